import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createSecretRotation } from '../../../control-plane/src/credentials/encryption/rotation.js'
import { SecretBoxError } from '../../../control-plane/src/credentials/encryption/secret-box.js'
import { heldTimers } from '../../api/held-timers.js'

const MINUTE = 60_000

/** A rotation over two columns in memory. A value tells with which secret it is encrypted. */
function made(columns: string[][], isKept = true) {
  const { timers, move, count } = heldTimers()
  const time = { ms: 0 }
  const done: string[] = []
  /** Rows that somebody else changes meanwhile. */
  const changed = new Set<number>()
  let secret = 1
  let hasPrevious = false
  const ring = {
    all: () => [],
    isKept,
    hasPrevious: () => hasPrevious,
    rotate(until: number | null) {
      done.push(`rotate until ${until}`)
      secret += 1
      hasPrevious = true
      return Promise.resolve()
    },
    forgetPrevious() {
      done.push('forget')
      hasPrevious = false
      return Promise.resolve()
    },
  }
  const box = {
    sealAnew(sealed: Buffer, owner: string) {
      if (sealed.toString() === 'bad') throw new SecretBoxError(`nobody opens that of ${owner}`)
      return sealed.toString() === `secret ${secret}` ? null : Buffer.from(`secret ${secret}`)
    },
  }
  const places = columns.map((values, at) => ({
    column: {
      name: `column ${at}`,
      read: (_: unknown, after: number, limit: number) =>
        Promise.resolve(
          values
            .map((text, index) => ({ key: index + 1, sealed: Buffer.from(text) }))
            .filter(({ key }) => key > after)
            .slice(0, limit),
        ),
      replace(_: unknown, { key }: { key: number }, sealed: Buffer) {
        if (changed.has(key)) return Promise.resolve(false)
        values[key - 1] = sealed.toString()
        return Promise.resolve(true)
      },
    },
    ownerOf: () => 'somebody',
  }))
  const warnings: unknown[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line)) })
  const rotation = createSecretRotation({
    store: { read: {}, write: (_: string, task: (queries: object) => Promise<unknown>) => task({}) },
    clock: { now: () => time.ms },
    timers,
    log,
    box,
    encryption: ring,
    accessTokens: ring,
    places,
    refreshTokenMs: 5000,
  } as never)
  /** What the service does by itself meanwhile. */
  const wait = async (ms: number) => {
    time.ms += ms
    move(ms)
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  return { rotation, done, wait, changed, count, columns, warnings }
}

const old = (count: number) => Array.from({ length: count }, () => 'secret 1')

test.each([0, 49, 50, 51, 100, 101])(
  'a new secret encrypts all of %i values, and those of other columns',
  async (count) => {
    const { rotation, columns, done } = made([old(count), old(3)])
    expect(await rotation.rotateEncryption()).toEqual({ reencrypted: count + 3, unreadable: 0 })
    expect(new Set(columns.flat())).toEqual(new Set(['secret 2']))
    expect(done).toEqual(['rotate until null'])
  },
)

test('values that no secret opens stay, are counted, and are warned of by column', async () => {
  const { rotation, columns, warnings } = made([['secret 1', 'bad'], ['bad'], old(2)])
  expect(await rotation.rotateEncryption()).toEqual({ reencrypted: 3, unreadable: 2 })
  expect(columns).toEqual([['secret 2', 'bad'], ['bad'], ['secret 2', 'secret 2']])
  expect(warnings).toMatchObject([
    { what: 'column 0', unreadable: 1 },
    { what: 'column 1', unreadable: 1 },
  ])
  expect(warnings).toHaveLength(2)
})

test('the earlier secret is forgotten ten minutes after the last value that needed it', async () => {
  const { rotation, done, wait, columns } = made([old(1)])
  await rotation.rotateEncryption()
  for (let minute = 1; minute < 10; minute += 1) await wait(MINUTE)
  expect(done).not.toContain('forget')
  // A request that began before stored what it had encrypted.
  columns[0]?.push('secret 1')
  await wait(MINUTE)
  expect([columns, done.includes('forget')]).toEqual([[['secret 2', 'secret 2']], false])
  for (let minute = 1; minute < 10; minute += 1) await wait(MINUTE)
  expect(done).not.toContain('forget')
  await wait(MINUTE)
  expect(done).toEqual(['rotate until null', 'forget'])
  // There is nothing more to do.
  await wait(20 * MINUTE)
  expect(done).toHaveLength(2)
})

test('a rotation that was not completed goes on without a further secret', async () => {
  const { rotation, done, changed, columns } = made([old(2)])
  changed.add(2)
  expect((await rotation.rotateEncryption()).reencrypted).toBe(1)
  changed.clear()
  expect((await rotation.rotateEncryption()).reencrypted).toBe(1)
  expect(columns).toEqual([['secret 2', 'secret 2']])
  expect(done).toEqual(['rotate until null'])
})

test('a secret of the settings is replaced by whoever sets it: only values are encrypted anew', async () => {
  const { rotation, done, wait } = made([['secret 0']], false)
  expect((await rotation.rotateEncryption()).reencrypted).toBe(1)
  await wait(20 * MINUTE)
  expect(done).toEqual([])
})

test('an earlier secret of tokens is good as long as a token can be, and a close ends all looks', async () => {
  const { rotation, done, wait, count } = made([])
  await wait(MINUTE)
  await rotation.rotateAccessTokens()
  expect(done).toEqual([`rotate until ${MINUTE + 5000}`])
  await rotation.close()
  expect(count()).toBe(0)
})
