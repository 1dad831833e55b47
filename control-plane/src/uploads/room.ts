import type { Clock } from '../time/clock.js'
import { TooLargeError, UnavailableError } from '../errors.js'
import type { Queries, Store } from '../store/store.js'
import {
  type UploadClaim,
  bytesToCome,
  changeUploadClaim,
  deleteOldUploadClaims,
  deleteUploadClaim,
  insertUploadClaim,
  uploadedBytes,
} from '../store/uploads/upload-claims.js'
import type { UploadFolder } from './upload-folder.js'

const MIB = 1024 * 1024
const GIB = 1024 * MIB

/**
 * What is claimed for a file whose size is not known, in bytes. The first claim is the first step. When it is used up, it is
 * doubled, but no more than the largest step is added.
 */
const FIRST_STEP = MIB
const MAX_STEP = 16 * MIB
/** After so many bytes, a claim stores how much of the file is on the disk already. */
const NOTE_EVERY = 16 * MIB
/** After this time a claim is stored again although it has not changed, in milliseconds. This shows that it is in use. */
const TOUCH_EVERY_MS = 30_000
/**
 * A claim that was not stored again for this time belongs to a node that is gone, in milliseconds. No upload pauses for so
 * long: it ends when its sender is silent for two minutes.
 */
const GONE_AFTER_MS = 10 * 60_000

/** What uploads may take. Bytes; 0: no limit. */
export interface UploadQuotas {
  /** UPLOAD_USER_MAX_GB */
  readonly ofUser: number
  /** UPLOAD_TOTAL_MAX_GB */
  readonly ofAll: number
}

/** The room on the disk for one upload. Its owner gives it back with `release`, or in the write that stores the upload. */
export interface UploadRoom {
  /**
   * Call before the file grows to this size, in bytes.
   * @throws TooLargeError over the quota of the user; UnavailableError over the quota of all users, or when the disk is full
   */
  extendTo(size: number): Promise<void>
  /** Gives the room back inside of the write that stores the upload. The stored upload takes its place. */
  releaseIn(queries: Queries): Promise<void>
  release(): Promise<void>
}

/**
 * Hands out the room for uploads. Each of many uploads may fit alone, but not all of them together. So an upload stores in
 * the database how much it will take before its first byte is written, and all nodes see it. The write that stores the claim
 * also checks the quotas. The disk is looked at after this write. Bytes that were written between the two count twice, but
 * no byte is missed. Each claim counts the claims before it, so as many uploads are let in as fit.
 */
export function createUploadRooms(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly folder: Pick<UploadFolder, 'requireRoom'>
  readonly quotas: UploadQuotas
}): { claim(ownerId: number, expectedBytes: number): Promise<UploadRoom> } {
  const { store, clock, folder, quotas } = deps

  async function requireQuota(queries: Queries, ownerId: number, more: number): Promise<void> {
    const { ofUser, ofAll } = quotas
    if (ofUser > 0 && (await uploadedBytes(queries, ownerId)) + more > ofUser) throw quotaOfUser(ofUser)
    if (ofAll > 0 && (await uploadedBytes(queries, null)) + more > ofAll) throw quotaOfAll()
  }

  return {
    async claim(ownerId, expectedBytes) {
      let claimed = expectedBytes > 0 ? expectedBytes : FIRST_STEP
      let noted = 0
      let size = 0
      let touchedAt = clock.now()
      let isOpen = true
      const claim = (): UploadClaim => ({ ownerId, bytes: claimed, written: noted, now: touchedAt })
      const { id, toCome } = await store.write('uploads.claim', async (queries) => {
        await deleteOldUploadClaims(queries, touchedAt - GONE_AFTER_MS)
        await requireQuota(queries, ownerId, claimed)
        const id = await insertUploadClaim(queries, claim())
        return { id, toCome: await bytesToCome(queries, id) }
      })
      const room: UploadRoom = {
        async extendTo(next) {
          const more = next > claimed ? Math.max(next - claimed, stepAfter(claimed)) : 0
          const isDue = size - noted >= NOTE_EVERY || clock.now() - touchedAt >= TOUCH_EVERY_MS
          const written = size
          size = next
          if (more === 0 && !isDue) return
          touchedAt = clock.now()
          noted = written
          claimed += more
          const left = await store.write('uploads.claim', async (queries) => {
            if (more > 0) await requireQuota(queries, ownerId, more)
            await changeUploadClaim(queries, id, claim())
            return bytesToCome(queries, Number.MAX_SAFE_INTEGER)
          })
          if (more > 0) await folder.requireRoom(left)
        },
        async releaseIn(queries) {
          await deleteUploadClaim(queries, id)
        },
        async release() {
          if (!isOpen) return
          isOpen = false
          await store.write('uploads.release', (queries) => deleteUploadClaim(queries, id))
        },
      }
      try {
        await folder.requireRoom(toCome)
      } catch (error) {
        await room.release()
        throw error
      }
      return room
    },
  }
}

function stepAfter(claimed: number): number {
  return Math.min(Math.max(claimed, FIRST_STEP), MAX_STEP)
}

function quotaOfUser(bytes: number): TooLargeError {
  const limit = bytes >= GIB ? `${bytes / GIB} GB` : `${bytes} bytes`
  return new TooLargeError(
    'upload_quota',
    `Your uploads may take ${limit} together (UPLOAD_USER_MAX_GB); delete jobs whose files you do not need`,
  )
}

function quotaOfAll(): UnavailableError {
  return new UnavailableError(
    'upload_quota_of_all',
    'The uploads of all users take as much as they may (UPLOAD_TOTAL_MAX_GB); try again later, or tell the admin',
  )
}
