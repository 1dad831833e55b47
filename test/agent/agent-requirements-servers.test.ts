import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { AnsweringServer } from '../support/answering-server.js'
import { buildCollection, startGalaxyServer } from '../support/galaxy-server.js'
import { FIRST_JOB_USER } from '../support/job-users.js'
import type { FakeControlPlane, StoredJob } from './fake-control-plane.js'
import { createIsolatedSetting, nothingRunsOf } from './isolated-setting.js'
import { orderOf, publish } from './playbooks.js'
import { createSetting, exactEnd } from './setting.js'

const findAnsible = (): string => execFileSync('sh', ['-c', 'command -v ansible-galaxy'], { encoding: 'utf8' }).trim()
/** What a job with a user of its own can start, too. The one that `python3` is may lie in somebody's home. */
const PYTHON = /^#! *(\/\S+\/python\S*)/.exec(readFileSync(findAnsible(), 'utf8'))?.[1] ?? 'python3'

/** Several starts of ansible on a busy machine. */
const LONG_MS = 240_000
const TOKEN = 'a-token-of-the-house'
const roleThatSays = (text: string): string => JSON.stringify([{ debug: { msg: text } }])
const SERVED = buildCollection('house', 'served', {
  'README.md': 'served',
  'roles/one/tasks/main.yml': roleThatSays('the collection of the server'),
})
const PACKED = buildCollection('house', 'packed', {
  'README.md': 'packed',
  'roles/one/tasks/main.yml': roleThatSays('the collection of the tar file'),
})
const SITE = JSON.stringify([
  {
    hosts: 'localhost',
    connection: 'local',
    gather_facts: false,
    roles: ['house.packed.one', 'house.served.one'],
    tasks: [{ debug: { msg: "user {{ lookup('pipe', 'id -u') }}" } }],
  },
])

async function startServer(): Promise<AnsweringServer> {
  const server = await startGalaxyServer(SERVED, TOKEN)
  onTestFinished(() => server.close())
  return server
}

/** A playbook folder with a tar file in it; its ansible.cfg knows no server but the private one. */
function offer(controlPlane: FakeControlPlane, { url }: AnsweringServer): StoredJob {
  const packed = { path: 'packed.tar.gz', size: PACKED.tarball.length, mode: 0o644 }
  const texts = {
    'site.yml': SITE,
    'requirements.yml':
      'collections:\n  - {name: ./packed.tar.gz, type: file}\n  - {name: house.served, version: ">=1.0"}\n',
    'ansible.cfg': `[galaxy]\nserver_list = house\n[galaxy_server.house]\nurl = ${url}/\ntoken = ${TOKEN}\n`,
  }
  const files = Object.entries(texts).map(([path, text]) => ({
    path,
    sha256: controlPlane.addBlob(text),
    size: Buffer.byteLength(text),
    mode: 0o644,
  }))
  const manifest = publish(
    controlPlane,
    {},
    { files: [...files, { ...packed, sha256: controlPlane.addBlob(PACKED.tarball) }] },
  )
  return controlPlane.offer(orderOf(manifest))
}

async function expectToRun(controlPlane: FakeControlPlane, job: StoredJob): Promise<string> {
  const end = await exactEnd(controlPlane, job, LONG_MS)
  expect(end, end.text).toMatchObject({ exit_code: 0, message: null })
  expect(end.text).toContain('the collection of the server')
  expect(end.text).toContain('the collection of the tar file')
  return end.text
}

test(
  'requirements come from a tar file and from the private server of ansible.cfg, and later jobs need neither',
  async () => {
    const server = await startServer()
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp({ RTE_GALAXY: 'on' })
    expect(await expectToRun(controlPlane, offer(controlPlane, server))).toContain('installing what requirements.yml')
    expect(server.asked.filter(({ path }) => path.endsWith('.tar.gz'))).toHaveLength(1)
    const asked = server.asked.length
    await server.close()
    expect(await expectToRun(controlPlane, offer(controlPlane, server))).not.toContain('installing')
    expect(server.asked).toHaveLength(asked)
  },
  2 * LONG_MS,
)

test(
  'a job with a user of its own installs its requirements as that user and shares them with nobody',
  async () => {
    const server = await startServer()
    const { controlPlane, joinIsolated, statePath, uids, ownFolder } = await createIsolatedSetting(
      FIRST_JOB_USER + 28,
      1,
    )
    await joinIsolated({ RTE_GALAXY: 'on', RTE_PYTHON: PYTHON })
    const text = await expectToRun(controlPlane, offer(controlPlane, server))
    expect(text).toContain(`user ${FIRST_JOB_USER + 28}`)
    expect(server.asked.filter(({ path }) => path.endsWith('.tar.gz'))).toHaveLength(1)
    expect(existsSync(join(statePath, 'cache/galaxy'))).toBe(false)
    await nothingRunsOf(uids)
    expect(readdirSync(ownFolder(FIRST_JOB_USER + 28, ''))).toEqual(['lock'])
  },
  LONG_MS,
)
