import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { orderOf, play, publish, say } from './playbooks.js'
import { createSetting, exactEnd } from './setting.js'
import { waitUntil } from './waiting.js'

const PYTHON = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim()
const ANSIBLE = execFileSync('sh', ['-c', 'command -v ansible-playbook'], { encoding: 'utf8' }).trim()

/** A Python that says that it is of this version (3.6), and is the real one in everything else. */
function writePython(path: string, version: readonly number[] = [3, 6, 8]): void {
  const answer = JSON.stringify([path, version, 'UTF-8', 'UTF-8'])
  const text = `#!/bin/sh\n[ "$3" = -c ] && { echo '${answer}'; exit 0; }\nexec ${PYTHON} "$@"\n`
  writeFileSync(path, text, { mode: 0o755 })
}

describe('the Python of a runner host', () => {
  test('one that is too old takes no job and is named, until there is one that fits', async () => {
    const { controlPlane, folder, start } = await createSetting()
    const old = join(folder, 'python3.6')
    writePython(old)
    const agent = start({ RTE_PYTHON: old })
    await controlPlane.isConnected()
    const sentence =
      `playbooks need Python 3.8 or later on this host, and ${old} (RTE_PYTHON) is Python 3.6.8; ` +
      'name another one with RTE_PYTHON'
    const ready = await agent.probe('/ready')
    expect(ready).toMatchObject({ status: 503 })
    expect(JSON.parse(ready.body)).toMatchObject({ reason: sentence })
    await waitUntil('it says that it takes nothing', () => controlPlane.statuses.at(-1)?.draining)
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say('x')) })))
    expect(await waitUntil('it is refused', () => job.refusals[0])).toEqual({ code: 'draining', message: sentence })
    rmSync(old)
    writeFileSync(old, `#!/bin/sh\nexec ${PYTHON} "$@"\n`, { mode: 0o755 })
    await waitUntil('it takes jobs', async () => (await agent.probe('/ready')).status === 200, 60_000)
    expect(await exactEnd(controlPlane, controlPlane.offer(job.order))).toMatchObject({ exit_code: 0 })
  })

  test('one that goes away: a job waits to be started, and /ready says for what', async () => {
    const { controlPlane, folder, join: joinApp } = await createSetting()
    const python = join(folder, 'python')
    writePython(python, [3, 11, 0])
    const agent = await joinApp({ RTE_PYTHON: python })
    rmSync(python)
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say('x')) })))
    await waitUntil('it is said', async () => (await agent.probe('/ready')).body.includes(`spawn ${python} ENOENT`))
    expect(job.end).toBeNull()
    writePython(python, [3, 11, 0])
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'exited', exit_code: 0 })
  })

  test('the one that ansible-playbook runs with comes before python3, and playbooks of a locale without UTF-8 get one', async () => {
    const { controlPlane, folder, join: joinApp } = await createSetting()
    const programs = join(folder, 'programs')
    mkdirSync(programs)
    writePython(join(programs, 'python3'))
    const wrapper = `#!${PYTHON}\nimport os, sys\nif "--version" in sys.argv: sys.exit(print("ansible-playbook [core 2.14.0]"))\nos.execv("${ANSIBLE}", sys.argv)\n`
    writeFileSync(join(programs, 'ansible-playbook'), wrapper, { mode: 0o755 })
    const path = `${programs}:${process.env.PATH ?? ''}`
    const agent = await joinApp({ PATH: path, LC_ALL: 'C' })
    expect(await agent.logged('playbooks are started with this Python')).toMatchObject({ python: PYTHON })
    await agent.logged("the agent's locale has the encoding none; playbooks get LC_ALL=C.UTF-8")
    const manifest = publish(controlPlane, { 'site.yml': play(say("grüße in {{ lookup('env', 'LC_ALL') }}")) })
    const end = await exactEnd(controlPlane, controlPlane.offer(orderOf(manifest)))
    expect(end).toMatchObject({ cause: 'exited', exit_code: 0 })
    expect(end.text).toContain('grüße in C.UTF-8')
  })
})
