import { stat } from 'node:fs/promises'
import { doubtful, fine, type Finding, wrong } from '@holdfast/protocol'
import { messageOf } from '../errors.js'
import { schemaState } from '../store/migrations/index.js'
import { type DatabasePlace, findSessionDoubt, openStore } from '../store/open-store.js'
import type { ControlPlaneSettings } from '../settings.js'
import { type EncryptionSettings, checkEncryption } from './encryption.js'

const SUBJECT = 'database'
const OF_POSTGRES = 'look at DATABASE_URL, whether the server runs, and whether it lets this host in (pg_hba.conf)'

/**
 * Checks whether the database can be opened, whether its tables are those of this release, and whether what it has can be
 * decrypted. No table is changed.
 */
export async function checkDatabase(
  settings: EncryptionSettings & Pick<ControlPlaneSettings, 'database'>,
): Promise<Finding[]> {
  const { database: place } = settings
  if (place.kind === 'sqlite') {
    const found = await stat(place.path).catch(() => null)
    if (found === null) return [fine(SUBJECT, `SQLite, ${place.path}: made at the first start`)]
    if (found.uid !== process.getuid?.()) {
      const words = `${place.path} belongs to the user with the id ${found.uid}`
      return [wrong(SUBJECT, words, 'run this as that user, such as: runuser -u holdfast -- holdfast check')]
    }
  }
  try {
    const store = await openStore(place, undefined, 'taken as they are')
    try {
      const state = await schemaState(store.read)
      return [
        tablesFinding(state, place),
        ...(await sessionFindings(place)),
        ...(state === 'good' ? await checkEncryption(store.read, settings) : []),
      ]
    } finally {
      await store.close()
    }
  } catch (error) {
    const advice = place.kind === 'postgres' ? OF_POSTGRES : 'is the file whole? docs/backup.md tells how to restore'
    return [wrong(SUBJECT, messageOf(error), advice)]
  }
}

async function sessionFindings(place: DatabasePlace): Promise<Finding[]> {
  const doubt = await findSessionDoubt(place)
  return doubt === null
    ? []
    : [doubtful(SUBJECT, doubt, 'docs/several-control-planes.md tells what the sessions are for')]
}

function tablesFinding(state: Awaited<ReturnType<typeof schemaState>>, place: DatabasePlace): Finding {
  const which = place.kind === 'sqlite' ? `SQLite, ${place.path}` : 'PostgreSQL'
  if (state === 'good') return fine(SUBJECT, `${which}: tables of this release`)
  if (state === 'not provisioned') return fine(SUBJECT, `${which}: empty, its tables are made at the first start`)
  const advice = 'make a backup first (holdfast backup)'
  return doubtful(SUBJECT, `${which}: tables of an older release; the next start brings them up to date`, advice)
}
