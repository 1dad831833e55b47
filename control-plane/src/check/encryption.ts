import { doubtful, fine, type Finding, wrong } from '@holdfast/protocol'
import { createSecretBox, type SecretBox, SecretBoxError } from '../credentials/encryption/secret-box.js'
import { messageOf } from '../errors.js'
import { readSecrets } from '../secrets/secret-ring.js'
import type { ControlPlaneSettings } from '../settings.js'
import { SEALED_COLUMNS, type SealedColumn, serviceKeys } from '../store/service/sealed-columns.js'
import type { Queries } from '../store/store.js'

/** Values of each kind that are tried. One of them may be megabytes long. */
const MAX_TRIED = 50
const BRING_BACK = 'bring back the secret of that time: the file encryption-secret in the data folder, or the setting'

/** Which secret decrypts what the database has. */
export type EncryptionSettings = Pick<
  ControlPlaneSettings,
  'persistentPath' | 'encryptionSecret' | 'encryptionSecretPrevious'
>

/**
 * Checks whether the secret of this host decrypts what is stored in the database. After a restore it may be another
 * one. It makes no secret where there is none.
 */
export async function checkEncryption(queries: Queries, settings: EncryptionSettings): Promise<Finding[]> {
  let secrets: readonly string[]
  try {
    secrets = await readSecrets({
      given: settings.encryptionSecret,
      previous: settings.encryptionSecretPrevious,
      folder: settings.persistentPath,
      name: 'encryption-secret',
    })
  } catch (error) {
    // That a secret cannot be read says nothing about what it decrypts.
    return [
      wrong('encryption', messageOf(error), 'let the user of the control plane read the secrets in its data folder'),
    ]
  }
  const box = createSecretBox({ all: () => secrets })
  const findings: Finding[] = []
  let tried = 0
  for (const column of SEALED_COLUMNS) {
    const { rows, closed } = await closedRows(queries, column, box)
    tried += rows
    if (closed === 0) continue
    if (column === serviceKeys) {
      const words = 'ENCRYPTION_SECRET is not the one that it was encrypted with, so no runner can connect'
      const orNew =
        'or start the control plane, run `holdfast service rotate-key --break-succession`, and then `holdfast-runner trust` on each runner'
      findings.push(wrong(column.name, words, `${BRING_BACK}; ${orNew}`))
    } else {
      const words = `ENCRYPTION_SECRET does not decrypt ${closed} of ${rows}${rows === MAX_TRIED ? ' that were tried' : ''}`
      findings.push(doubtful(column.name, words, `${BRING_BACK}; or enter them again`))
    }
  }
  if (findings.length > 0 || tried === 0) return findings
  return [fine('encryption', 'ENCRYPTION_SECRET decrypts what is stored')]
}

async function closedRows(queries: Queries, column: SealedColumn, box: SecretBox) {
  const rows = await column.read(queries, 0, MAX_TRIED)
  const closed = rows.filter(({ sealed, owner }) => {
    try {
      box.open(sealed, owner)
      return false
    } catch (error) {
      if (!(error instanceof SecretBoxError)) throw error
      return true
    }
  })
  return { rows: rows.length, closed: closed.length }
}
