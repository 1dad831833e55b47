import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildAgent, startAgent } from '../../runner-agent/src/main.js'
import { readSettings } from '../../runner-agent/src/settings.js'
import { StateInUseError } from '../../runner-agent/src/spool/state-lock.js'
import { pathWithQuickAnsible } from '../support/quick-ansible.js'
import { FakeControlPlane } from './fake-control-plane.js'
import { CACHED_BYTES, type Effect, type LiveAgent, type SeenElsewhere, SETTING_EFFECTS } from './setting-effects.js'
import { waitUntil } from './waiting.js'

/** Each setting of the agent changes what a user sees: a wire that leads nowhere fails here. */
const all = Object.entries<Effect | SeenElsewhere>(SETTING_EFFECTS)
const effects = all.flatMap(([name, one]) => ('look' in one ? [[name, one] as const] : []))
const elsewhere = all.flatMap(([name, one]) => ('look' in one ? [] : [[name, one] as const]))

const folders: string[] = []
const log = pino({ level: 'silent' })
let usual: LiveAgent
let changed: LiveAgent

/** Starts an agent with the defaults of a user. What it must not share with other tests is given: folder, port, address. */
async function start(given: Readonly<Record<string, string>>): Promise<LiveAgent> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-agent-settings-'))
  folders.push(folder)
  const [here, there] = [new FakeControlPlane(), new FakeControlPlane()]
  for (const one of [here, there]) await one.listen()
  for (const state of ['state', 'elsewhere']) fillCache(join(folder, state))
  const isThere = given.APP_URL === 'there'
  const base = { RTE_STATE_PATH: 'state', RTE_GALAXY: 'on', PORT: '0' }
  const environment = { ...base, ...given, APP_URL: (isThere ? there : here).url }
  const settings = readSettings({ environment, flags: {}, readFile: (path) => readFileSync(path, 'utf8') }, folder)
  const own = { PATH: pathWithQuickAnsible(folder) }
  const agent = await startAgent(settings, { log, environment: { ...process.env, ...own } })
  await waitUntil('the agent is approved', () => agent.parts.approvalWatch.state === 'approved')
  const port = await waitUntil('probes are answered', () => agent.port)
  return { agent, folder, here, there, probes: `http://${settings.listenHost}:${port}` }
}

function fillCache(statePath: string): void {
  const content = Buffer.alloc(CACHED_BYTES, 7)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const folder = join(statePath, 'cache', 'blobs', sha256.slice(0, 2))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, sha256), content)
}

beforeAll(async () => {
  usual = await start({})
  changed = await start(Object.fromEntries(effects.map(([name, { given }]) => [name, given])))
})

afterAll(async () => {
  for (const { agent, here, there } of [usual, changed]) {
    await agent.kill()
    await here.close()
    await there.close()
  }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

describe('a user sees that another value is given for', () => {
  test.each(effects)('%s', async (_name, { look, ...seen }) => {
    expect([await look(usual, false), await look(changed, true)]).toEqual([seen.usual, seen.changed])
    expect(seen.changed).not.toEqual(seen.usual)
  })
})

describe('a test of the whole program sees', () => {
  test.each(elsewhere)('%s', (_name, { file, title }) => {
    expect(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')).toContain(title)
  })
})

test('an agent that cannot be built takes nothing of the one that works on its state folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-agent-build-'))
  folders.push(folder)
  const environment = { APP_URL: 'http://127.0.0.1:1', RTE_STATE_PATH: 'state' }
  const settings = readSettings({ environment, flags: {}, readFile: () => '' }, folder)
  const first = await buildAgent(settings, { log })
  for (const _again of [1, 2]) await expect(buildAgent(settings, { log })).rejects.toThrow(StateInUseError)
  await first.close()
  expect(first.isClosing()).toBe(true)
})
