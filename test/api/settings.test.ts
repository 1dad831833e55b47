import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Effect, FILES, SETTING_EFFECTS, type SeenElsewhere } from './setting-effects.js'
import { type TestServer, startServer } from './server.js'

/** Each setting of the control plane changes what a user sees: a wire that leads nowhere fails here. */
const all = Object.entries<Effect | SeenElsewhere>(SETTING_EFFECTS)
const effects = all.flatMap(([name, one]) => ('look' in one ? [[name, one] as const] : []))
const elsewhere = all.flatMap(([name, one]) => ('look' in one ? [] : [[name, one] as const]))
/** What moves the clock, and with it the end of tokens, comes last. */
const MOVE_THE_CLOCK = ['SESSION_MAX_AGE', 'AUDIT_RETENTION_DAYS']

let usual: TestServer
let changed: TestServer

beforeAll(async () => {
  const prepare = (folder: string) => {
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
  }
  // The disk of the machine must not decide about uploads of gigabytes.
  const freeBytes = () => Promise.resolve(2 ** 50)
  const settings = Object.fromEntries(effects.map(([name, { given }]) => [name, given]))
  usual = await startServer({ prepare, freeBytes })
  changed = await startServer({ prepare, freeBytes, settings })
})
afterAll(async () => {
  await usual.close()
  await changed.close()
})

describe('a user sees that another value is given for', () => {
  const inOrder = [...effects].sort(
    ([a], [b]) => Number(MOVE_THE_CLOCK.includes(a)) - Number(MOVE_THE_CLOCK.includes(b)),
  )
  test.each(inOrder)('%s', async (_name, { look, ...seen }) => {
    expect([await look(usual, false), await look(changed, true)]).toEqual([seen.usual, seen.changed])
    expect(seen.changed).not.toEqual(seen.usual)
  })
})

describe('a test of whole programs sees', () => {
  test.each(elsewhere)('%s', (_name, { file, title }) => {
    expect(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')).toContain(title)
  })
})
