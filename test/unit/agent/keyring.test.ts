import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JobOrder, SealError, sealSecrets } from '@holdfast/protocol'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { loadIdentity, makeNextKeys } from '../../../runner-agent/src/identity/identity.js'
import { createKeyring } from '../../../runner-agent/src/identity/keyring.js'
import { createSecretsOpener } from '../../../runner-agent/src/playbook/secrets.js'

const SECRETS = {
  variables: {},
  extravars: { password: 'sealed before' },
  key_files: [],
  vault_password: null,
  hidden: [],
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
