import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JobOrder, SealError, sealSecrets } from '@holdfast/protocol'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadIdentity, makeNextKeys } from '../../../runner-agent/src/identity/identity.js'
import { createKeyring } from '../../../runner-agent/src/identity/keyring.js'
import { createSecretsOpener } from '../../../runner-agent/src/playbook/secrets.js'

const SECRETS = {
  variables: {},
  extravars: { password: 'sealed before' },
  key_files: [],
  vault_password: null,
  vaults: [],
  hidden: [],
  origins: [],
}

test('secrets of a claimed job that were sealed to earlier keys can be opened as long as it is in the spool', async () => {
  const statePath = await mkdtemp(join(tmpdir(), 'holdfast-keyring-'))
  onTestFinished(() => rm(statePath, { recursive: true, force: true }))
  const log = pino({ level: 'silent' })
  const before = await loadIdentity(statePath)
  const binding = { jobId: 1, runId: 'r', fingerprint: before.fingerprint }
  const order = {
    job_id: 1,
    run_id: 'r',
    sealed: sealSecrets(JSON.stringify(SECRETS), before.sealingPublicKey, binding),
  } as JobOrder
  let isIdle = false

  const first = createKeyring(before, { statePath, log, isIdle: () => isIdle })
  expect(first.isNextWaiting).toBe(false)
  const fingerprint = await makeNextKeys(statePath)
  await first.prepare()
  // A connection with the keys of today ends now, so that the new ones are shown.
  expect(first.isNextWaiting).toBe(true)
  expect(first.dial().fingerprint).toBe(fingerprint)
  expect(first.isNextWaiting).toBe(false)
  expect(createSecretsOpener(() => first.openers())(order)).toMatchObject({ extravars: SECRETS.extravars })
  await first.welcomed()
  expect(createSecretsOpener(() => first.openers())(order)).toMatchObject({ extravars: SECRETS.extravars })

  // The agent is started again while the job still waits.
  const second = createKeyring(await loadIdentity(statePath), { statePath, log, isIdle: () => isIdle })
  await second.prepare()
  expect(second.shown.fingerprint).toBe(fingerprint)
  expect(createSecretsOpener(() => second.openers())(order)).toMatchObject({ extravars: SECRETS.extravars })

  isIdle = true
  await second.prepare()
  expect(second.isNextWaiting).toBe(false)
  expect(() => createSecretsOpener(() => second.openers())(order)).toThrow(SealError)
  expect(await readFile(join(statePath, 'identity'), 'utf8')).not.toContain(JSON.stringify(before.sealingPrivatePem))
})

describe('the keys of a running agent', () => {
  /** An agent with the keys of a state folder of its own, and the lines of its log. */
  async function agentOf() {
    const statePath = await mkdtemp(join(tmpdir(), 'holdfast-keyring-'))
    onTestFinished(() => rm(statePath, { recursive: true, force: true }))
    const lines: string[] = []
    const log = pino({}, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) })
    const before = await loadIdentity(statePath)
    const idle = { is: false }
    const keyring = createKeyring(before, { statePath, log, isIdle: () => idle.is })
    return { statePath, lines, before, idle, keyring, nextPath: join(statePath, 'identity-next') }
  }

  test('stay as they are while none wait', async () => {
    const { keyring, before, lines, idle } = await agentOf()
    idle.is = true
    await keyring.prepare()
    expect([keyring.shown, keyring.isNextWaiting, keyring.openers()]).toEqual([before, false, [before]])
    expect(keyring.dial()).toBe(before)
    await keyring.welcomed()
    expect([keyring.shown, lines]).toEqual([before, []])
  })

  test('are shown with the new ones, and kept until the control plane has taken those', async () => {
    const { keyring, before, lines, nextPath, statePath } = await agentOf()
    keyring.dial()
    const fingerprint = await makeNextKeys(statePath)
    await keyring.prepare()
    await keyring.prepare()
    expect(keyring.shown.fingerprint).toBe(fingerprint)
    expect(keyring.openers().map((one) => one.fingerprint)).toEqual([fingerprint, before.fingerprint])
    // The connection that is there was made with the old ones: its welcome says nothing about the new ones.
    await keyring.welcomed()
    expect([existsSync(nextPath), (await loadIdentity(statePath)).fingerprint]).toEqual([true, before.fingerprint])
    keyring.dial()
    // It was refused, or cut off.
    keyring.dial()
    expect(keyring.isNextWaiting).toBe(false)
    await keyring.welcomed()
    expect([existsSync(nextPath), (await loadIdentity(statePath)).fingerprint]).toEqual([false, fingerprint])
    expect(keyring.openers().map((one) => one.fingerprint)).toEqual([fingerprint, before.fingerprint])
    await keyring.welcomed()
    expect(lines).toEqual(["the control plane has taken this runner's new keys"])
  })

  test('before the new ones go only when no job needs them, and nobody dials for that', async () => {
    const { keyring, idle, statePath } = await agentOf()
    const fingerprint = await makeNextKeys(statePath)
    await keyring.prepare()
    keyring.dial()
    await keyring.welcomed()
    await keyring.prepare()
    expect(keyring.openers()).toHaveLength(2)
    idle.is = true
    await keyring.prepare()
    expect([keyring.openers().map((one) => one.fingerprint), keyring.isNextWaiting]).toEqual([[fingerprint], false])
    expect((await loadIdentity(statePath)).former).toEqual([])
  })

  test('before the new ones stay while still newer ones wait', async () => {
    const { keyring, idle, statePath } = await agentOf()
    await makeNextKeys(statePath)
    await keyring.prepare()
    keyring.dial()
    await keyring.welcomed()
    // Newer keys wait meanwhile, so the former ones stay.
    const newest = await makeNextKeys(statePath)
    idle.is = true
    await keyring.prepare()
    expect([keyring.isNextWaiting, keyring.shown.fingerprint, keyring.openers()]).toEqual([
      true,
      newest,
      expect.objectContaining({ length: 3 }),
    ])
  })

  test('stay in use when the new ones cannot be read, and these count once they can', async () => {
    const { keyring, before, lines, nextPath, statePath } = await agentOf()
    await mkdir(nextPath)
    await keyring.prepare()
    expect([keyring.shown, lines]).toEqual([before, ["the runner's new keys cannot be read; the old ones stay in use"]])
    await rm(nextPath, { recursive: true })
    const fingerprint = await makeNextKeys(statePath)
    await keyring.prepare()
    expect(keyring.shown.fingerprint).toBe(fingerprint)
  })

  test('that cannot be kept as its own are kept after the next connection', async () => {
    const { keyring, lines, statePath, nextPath } = await agentOf()
    const fingerprint = await makeNextKeys(statePath)
    await keyring.prepare()
    keyring.dial()
    const path = join(statePath, 'identity')
    const text = readFileSync(path)
    await rm(path)
    // Nothing replaces a folder that is not empty.
    await mkdir(join(path, 'in it'), { recursive: true })
    await keyring.welcomed()
    expect(lines).toEqual(["the runner's new keys cannot be kept as its own; tried again at the next connection"])
    expect([keyring.shown.fingerprint, existsSync(nextPath)]).toEqual([fingerprint, true])
    await rm(path, { recursive: true })
    await writeFile(path, text)
    keyring.dial()
    await keyring.welcomed()
    expect((await loadIdentity(statePath)).fingerprint).toBe(fingerprint)
  })
})
