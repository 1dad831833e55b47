import { MAX_SUCCESSIONS, fingerprintOf, follows, publicKeyOf } from '@holdfast/protocol'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  becomeNext,
  forgetFormer,
  type Identity,
  loadIdentity,
  loadNext,
  makeNextKeys,
} from '../../../runner-agent/src/identity/identity.js'

/** The keys of a runner in its state folder, and how they are replaced. */
let state: string
beforeEach(() => {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-identity-'))
  state = join(parent, 'deep', 'state')
  onTestFinished(() => {
    rmSync(parent, { recursive: true })
  })
})

const path = () => join(state, 'identity')
const nextPath = () => join(state, 'identity-next')
const modeOf = (name: string) => statSync(name).mode & 0o777
/** New keys that wait, as the agent shows them. */
async function nextOf(today: Identity): Promise<Identity> {
  await makeNextKeys(state)
  const next = await loadNext(state, today)
  if (next === null) throw new Error('no keys wait')
  return next
}

describe('the keys of a runner', () => {
  test('are made at the first use, open to nobody else, and stay', async () => {
    const made = await loadIdentity(state)
    expect([modeOf(state), modeOf(path()), readdirSync(state)]).toEqual([0o700, 0o600, ['identity']])
    expect(made).toMatchObject({
      identityPublicKey: publicKeyOf(made.identityPrivatePem),
      sealingPublicKey: publicKeyOf(made.sealingPrivatePem),
      fingerprint: fingerprintOf(publicKeyOf(made.identityPrivatePem)),
      succession: [],
      former: [],
    })
    expect(await loadIdentity(state)).toEqual(made)
  })

  test('are the same for two processes that make them at once', async () => {
    const [one, other] = await Promise.all([loadIdentity(state), loadIdentity(state)])
    expect(one.fingerprint).toBe(other.fingerprint)
  })

  test('are closed to others again after a restore that opened them', async () => {
    const made = await loadIdentity(state)
    chmodSync(path(), 0o644)
    expect(await loadIdentity(state)).toEqual(made)
    expect(modeOf(path())).toBe(0o600)
  })

  test.each(['', '{', '{"identityPrivatePem":"x"}', 'null'])('are not made anew in place of %j', async (text) => {
    mkdirSync(state, { recursive: true })
    writeFileSync(path(), text)
    await expect(loadIdentity(state)).rejects.toThrow('is not what this agent wrote; restore it from a backup')
    expect(readFileSync(path(), 'utf8')).toBe(text)
  })

  test('are not made anew where they cannot be read', async () => {
    mkdirSync(path(), { recursive: true })
    const text = `cannot read the identity ${path()}; nothing is wrong with the identity, so leave it there`
    await expect(loadIdentity(state)).rejects.toThrow(text)
  })
})

describe('new keys', () => {
  test('wait beside those of today, which sign them, and what was sealed before still opens', async () => {
    const today = await loadIdentity(state)
    expect(await loadNext(state, today)).toBeNull()
    const fingerprint = await makeNextKeys(state)
    expect(await makeNextKeys(state)).toBe(fingerprint)
    expect(modeOf(nextPath())).toBe(0o600)
    expect(await loadIdentity(state)).toEqual(today)
    const next = await loadNext(state, today)
    expect(next).toMatchObject({
      fingerprint,
      former: [{ fingerprint: today.fingerprint, sealingPrivatePem: today.sealingPrivatePem }],
    })
    expect(next?.succession).toHaveLength(1)
    expect(follows('runner', today.fingerprint, next?.succession ?? [], next?.identityPublicKey ?? '')).toBe(true)
    expect(existsSync(nextPath())).toBe(true)
  })

  test('become those of today, and the private key before them goes', async () => {
    const today = await loadIdentity(state)
    const next = await nextOf(today)
    await becomeNext(state, next)
    expect(readdirSync(state)).toEqual(['identity'])
    expect(await loadIdentity(state)).toEqual(next)
    const text = readFileSync(path(), 'utf8')
    expect(text).not.toContain(JSON.stringify(today.identityPrivatePem))
    expect(text).toContain(JSON.stringify(today.sealingPrivatePem))
    const without = await forgetFormer(state, next)
    expect(without).toEqual({ ...next, former: [] })
    expect(await loadIdentity(state)).toEqual(without)
  })

  test('are made in a folder that has none yet, beside first ones', async () => {
    const fingerprint = await makeNextKeys(state)
    expect(readdirSync(state).toSorted()).toEqual(['identity', 'identity-next'])
    expect((await loadIdentity(state)).fingerprint).not.toBe(fingerprint)
  })

  test('are those of today also when their file is gone already, and that is on the disk then', async () => {
    const next = await nextOf(await loadIdentity(state))
    const seen: string[][] = []
    const handle = await open('/dev/null')
    const prototype = Object.getPrototypeOf(handle) as FileHandle
    await handle.close()
    const { sync } = prototype
    const syncing = vi.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
      if ((await this.stat()).isDirectory()) seen.push(readdirSync(state).filter((name) => !name.endsWith('.tmp')))
      return sync.call(this)
    })
    onTestFinished(() => {
      syncing.mockRestore()
    })
    await becomeNext(state, next)
    expect(seen).toEqual([['identity', 'identity-next'], ['identity']])
    await becomeNext(state, next)
    expect(await loadIdentity(state)).toEqual(next)
  })

  test('that are those of today already do not wait any more', async () => {
    const today = await loadIdentity(state)
    const next = await nextOf(today)
    // The agent ended before it could remove the second file.
    const waiting = readFileSync(nextPath())
    await becomeNext(state, next)
    writeFileSync(nextPath(), waiting)
    expect(await loadNext(state, next)).toBeNull()
    expect(existsSync(nextPath())).toBe(false)
  })

  test('that cannot be read are an error, and do not count as none', async () => {
    const today = await loadIdentity(state)
    mkdirSync(nextPath())
    await expect(loadNext(state, today)).rejects.toThrow('cannot read the identity')
    await expect(makeNextKeys(state)).rejects.toThrow('cannot read the identity')
  })

  test('name as many keys before them as the protocol takes, the latest of them, and all former ones', async () => {
    let today = await loadIdentity(state)
    const first = today
    for (let change = 0; change < 2; change += 1) {
      const next = await nextOf(today)
      await becomeNext(state, next)
      today = next
    }
    expect(today.succession).toHaveLength(2)
    expect(today.former.map(({ fingerprint }) => fingerprint)).toEqual([first.fingerprint, expect.any(String)])
    expect(follows('runner', first.fingerprint, today.succession, today.identityPublicKey)).toBe(true)
    const [link] = today.succession
    if (link === undefined) throw new Error('it has no link')
    const long = { ...today, succession: Array.from({ length: MAX_SUCCESSIONS }, () => link) }
    const next = await nextOf(long)
    expect(next.succession).toHaveLength(MAX_SUCCESSIONS)
    expect(follows('runner', today.fingerprint, next.succession, next.identityPublicKey)).toBe(true)
  })
})
