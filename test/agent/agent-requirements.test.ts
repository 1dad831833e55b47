import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { processesOf } from './agent-process.js'
import { orderOf, publish } from './playbooks.js'
import { createSetting, exactEnd } from './setting.js'
import { waitUntil } from './waiting.js'

/** Several starts of ansible at once on a busy machine. */
const LONG_MS = 240_000
const GALAXY = execFileSync('sh', ['-c', 'command -v ansible-galaxy'], { encoding: 'utf8' }).trim()
const tasks = (text: string): string => JSON.stringify([{ debug: { msg: text } }])
const SITE = JSON.stringify([
  {
    hosts: 'localhost',
    connection: 'local',
    gather_facts: false,
    roles: ['from_git', 'house.things.of_collection'],
  },
])

function write(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

/** A role in a folder of git and a collection in a plain one. @returns requirements that name them */
function sources(folder: string): string {
  const git = (...words: string[]): void => {
    const who = ['-c', 'user.name=t', '-c', 'user.email=t@localhost']
    execFileSync('git', [...who, ...words], { cwd: join(folder, 'role'), stdio: 'ignore' })
  }
  write(folder, {
    'role/tasks/main.yml': tasks('the role of git'),
    'role/meta/main.yml': JSON.stringify({ galaxy_info: { author: 't', description: 't', license: 'x' } }),
    'collection/galaxy.yml': JSON.stringify({
      namespace: 'house',
      name: 'things',
      version: '1.0.0',
      readme: 'README.md',
      authors: ['t'],
    }),
    'collection/README.md': 'A collection of this test.',
    'collection/roles/of_collection/tasks/main.yml': tasks('the role of a collection'),
  })
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'first')
  return JSON.stringify(
    {
      roles: [{ src: `git+file://${join(folder, 'role')}`, name: 'from_git' }],
      collections: [{ name: join(folder, 'collection'), type: 'dir' }],
    },
    null,
    1,
  )
    .replace(/^ "(roles|collections)"/gm, '$1')
    .replace(/^[{}]$/gm, '')
    .replace(/\],$/gm, ']')
}

test(
  'requirements are installed once for all jobs, go on when the agent is killed, and end with an abort',
  async () => {
    const { controlPlane, folder, statePath, join: joinApp } = await createSetting()
    const [calls, gate, programs] = [join(folder, 'calls'), join(folder, 'gate'), join(folder, 'programs')]
    const wrapper = `#!/bin/sh\necho "$1" >>${calls}\nuntil [ -e ${gate} ]; do sleep 0.1; done\nexec ${GALAXY} "$@"\n`
    mkdirSync(programs)
    writeFileSync(join(programs, 'ansible-galaxy'), wrapper, { mode: 0o755 })
    const called = (): string[] => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [])
    const settings = { RTE_GALAXY: 'on', PATH: `${programs}:${folder}/quick-programs:${process.env.PATH ?? ''}` }
    const agent = await joinApp(settings)
    const requirements = sources(folder)
    const manifest = publish(controlPlane, { 'site.yml': SITE, 'requirements.yml': requirements })
    const jobs = [controlPlane.offer(orderOf(manifest)), controlPlane.offer(orderOf(manifest))]
    await waitUntil('one of them installs', () => called().length === 1, LONG_MS)
    await agent.kill()
    await joinApp(settings)
    writeFileSync(gate, '')
    for (const job of jobs) {
      const end = await exactEnd(controlPlane, job, LONG_MS)
      expect(end.exit_code, end.text).toBe(0)
      expect(end.text).toContain('the role of git')
      expect(end.text).toContain('the role of a collection')
    }
    expect(called()).toEqual(['role', 'collection'])

    const wanting = publish(controlPlane, { 'site.yml': SITE, 'requirements.yml': `roles:\n- src: ${folder}/none\n` })
    const failed = await exactEnd(controlPlane, controlPlane.offer(orderOf(wanting)), LONG_MS)
    expect(failed).toMatchObject({
      exit_code: 1,
      message: 'what the playbook folder requires could not be installed: the output says why',
    })
    execFileSync('rm', [gate])
    const others = publish(controlPlane, { 'site.yml': SITE, 'requirements.yml': `${requirements}\n# another\n` })
    const job = controlPlane.offer(orderOf(others))
    await waitUntil('it installs', () => called().length === 4, LONG_MS)
    controlPlane.send({ type: 'abort', job_id: job.order.job_id, run_id: job.order.run_id })
    expect(await exactEnd(controlPlane, job, LONG_MS)).toMatchObject({ cause: 'aborted' })
    expect(processesOf(job.order.run_id)).toEqual([])
    expect(readdirSync(join(statePath, 'cache/galaxy')).filter((name) => !name.includes('.'))).toHaveLength(1)
  },
  3 * LONG_MS,
)
