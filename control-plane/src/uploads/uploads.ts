import type { Ages } from '../ages/age-limits.js'
import type { Clock } from '../time/clock.js'
import { InvalidInputError, TooLargeError } from '../errors.js'
import type { Ground } from '../ground/ground.js'
import type { Store } from '../store/store.js'
import { insertUpload } from '../store/uploads/uploads.js'
import { type UploadDescription, descriptionOf } from './description.js'
import { type UploadQuotas, createUploadRooms } from './room.js'
import { createUploadSweeper } from './sweeper.js'
import { type UploadFolder, type UploadFolderDependencies, openUploadFolder } from './upload-folder.js'

/** Longest name of a file that is kept, in characters. */
const MAX_NAME_LENGTH = 4096
/** Longest MIME type and encoding that is kept, in characters. */
const MAX_WORD_LENGTH = 255
const GIB = 1024 ** 3

/** What the program of a user says about a file that it sends. It may be anything. */
export interface FileNames {
  readonly originalname: string
  readonly encoding: string
  readonly mimetype: string
}

/** The owner of an uploaded file. */
export interface UploadOwner {
  readonly id: number
  readonly username: string
  readonly type: string
}

/** A file that is being uploaded. Its owner ends it with `finish` or `discard`. */
export interface IncomingUpload {
  /** @throws TooLargeError, UnavailableError */
  write(bytes: Buffer): Promise<void>
  /**
   * Call when the whole file has come. Stores the file and who owns it.
   * @throws InvalidInputError for a name that cannot be kept; UnavailableError
   */
  finish(owner: UploadOwner, names: FileNames): Promise<UploadDescription>
  /** Removes what has come of the file. Does nothing after a `finish` that succeeded. */
  discard(): Promise<void>
}

/**
 * Takes in the files that users upload for file fields. An upload is a row and a file. The file is written before the row,
 * and the row is removed before the file. A description from a client only names a row: sizes, names and paths come from
 * the row and the disk.
 */
export type Uploads = ReturnType<typeof createUploads>

/** Makes the {@link Uploads} of a folder. */
export function createUploads(options: {
  readonly store: Store
  readonly clock: Clock
  readonly folder: UploadFolder
  /** UPLOAD_MAX_GB in bytes; 0: no limit. */
  readonly maxBytes: number
  readonly quotas: UploadQuotas
}) {
  const { store, clock, folder } = options
  const rooms = createUploadRooms(options)
  const maxBytes = options.maxBytes === 0 ? Infinity : options.maxBytes
  const tooLarge = () =>
    new TooLargeError('upload_too_large', `The file is larger than the limit of ${sizeText(maxBytes)} (UPLOAD_MAX_GB)`)

  return {
    /**
     * Begins an upload.
     * @param expected bytes of the file and of the whole request body, as the client says them; 0 when it does not say
     * @throws TooLargeError, UnavailableError
     */
    async begin(
      owner: Pick<UploadOwner, 'id'>,
      expected: { readonly file: number; readonly body: number },
    ): Promise<IncomingUpload> {
      if (expected.file > maxBytes) throw tooLarge()
      const room = await rooms.claim(owner.id, expected.body)
      const writer = await folder.begin(0).catch(async (error: unknown) => {
        await room.release()
        throw error
      })
      let finished = false
      return {
        async write(bytes) {
          if (writer.size + bytes.length > maxBytes) throw tooLarge()
          await room.extendTo(writer.size + bytes.length)
          await writer.write(bytes)
        },
        async finish(owner, names) {
          const original = originalNameOf(names.originalname)
          // The file is stored before its row. A crash between the two leaves a file without a row. The sweeper removes
          // such a file after a day.
          const stored = await writer.keep()
          const upload = {
            stored_name: stored.storedName,
            owner_id: owner.id,
            owner_name: owner.username,
            owner_type: owner.type,
            size: stored.size,
            sha256: stored.sha256,
            original_name: original,
            mime_type: plainWord(names.mimetype, 'application/octet-stream'),
            encoding: plainWord(names.encoding, '7bit'),
            created_at: clock.now(),
            used: 0,
          }
          await store.write('uploads.insert', async (queries) => {
            await insertUpload(queries, upload)
            await room.releaseIn(queries)
          })
          finished = true
          return descriptionOf(upload, folder.path)
        },
        async discard() {
          if (finished) return
          await writer.discard()
          // A claim that cannot be deleted now grows old. A later upload removes it.
          await room.release().catch(() => undefined)
        },
      }
    },
  }
}

/**
 * The name of a file, for people. Some programs send a whole path: its last part is the name. Control characters are left
 * out. @throws InvalidInputError
 */
function originalNameOf(given: string): string {
  const name = (given.split(/[/\\]/).at(-1) ?? '').replace(/\p{Cc}/gu, '')
  if (name === '' || name === '.' || name === '..') {
    throw new InvalidInputError('file_name_missing', 'The file part has no file name')
  }
  if (name.length > MAX_NAME_LENGTH) {
    throw new InvalidInputError('file_name_too_long', `A file name may have ${MAX_NAME_LENGTH} characters`)
  }
  return name
}

function plainWord(text: string, fallback: string): string {
  return text.replace(/\p{Cc}/gu, '').slice(0, MAX_WORD_LENGTH) || fallback
}

function sizeText(bytes: number): string {
  return bytes >= GIB ? `${bytes / GIB} GB` : `${bytes} bytes`
}

/** What uploads need of the settings. Sizes are in bytes. */
export interface UploadSettings {
  readonly uploadPath: string
  /** 0: no limit. */
  readonly uploadMaxBytes: number
  /** 0: no limit. */
  readonly uploadQuotas: UploadQuotas
}

/** What uploads need of other rooms and of the machine. */
export interface UploadNeeds {
  readonly store: Store
  readonly ages: Ages
  /** The free bytes of a disk. Left out: the system is asked. */
  readonly freeBytes?: UploadFolderDependencies['freeBytes']
}

/** The parts of this room, ready to use. */
export type UploadParts = Awaited<ReturnType<typeof composeUploads>>

/** Builds the folder of uploaded files, what stores files in it, and what removes the files that nobody needs. */
export async function composeUploads(
  ground: Ground,
  settings: UploadSettings,
  { store, ages, freeBytes }: UploadNeeds,
) {
  const { clock, timers, random, log, onClose } = ground
  const folder = await openUploadFolder({ path: settings.uploadPath, random, freeBytes })
  const sweeper = createUploadSweeper({ store, folder, ages, timers, log })
  onClose(() => sweeper.close())
  const { uploadMaxBytes: maxBytes, uploadQuotas: quotas } = settings
  return { folder, sweeper, uploads: createUploads({ store, clock, folder, maxBytes, quotas }) }
}
