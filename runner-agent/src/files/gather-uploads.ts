import type { JobOrder, JobUpload } from '@holdfast/protocol'
import { join } from 'node:path'
import type { JobKey } from '../spool/job-folder.js'
import { TransferError } from './blob-transfer.js'
import type { Extravars } from './gather.js'
import type { UploadStore } from './upload-store.js'
import type { UploadTransfer } from './upload-transfer.js'

/** Which job the uploaded files are for, and where they come from. */
export interface UploadsOptions {
  readonly key: JobKey
  readonly order: JobOrder
  readonly uploadStore: UploadStore
  readonly transfer: UploadTransfer
  /** Where the files shall be put now. */
  readonly folder: string
  readonly signal: AbortSignal
}

/**
 * Gets the uploaded files of a job and puts them below `folder`, each in a folder of its own.
 * @throws TransferError, the system's error, or the signal's reason
 */
export async function gatherUploads(options: UploadsOptions): Promise<void> {
  const { order, folder } = options
  const places = new Map<string, { readonly upload: JobUpload; readonly paths: string[] }>()
  order.uploads.forEach((upload, index) => {
    const place = places.get(upload.sha256) ?? { upload, paths: [] }
    place.paths.push(join(folder, uploadPath(upload, index)))
    places.set(upload.sha256, place)
  })
  for (const { upload, paths } of places.values()) {
    await options.uploadStore.alone(upload.sha256, async () => {
      try {
        options.signal.throwIfAborted()
        await bring(options, upload)
        await options.uploadStore.place(upload.sha256, paths)
      } catch (error) {
        // After a lost connection or a restart the upload goes on from here. If the job is given up, nothing is left.
        if (!options.transfer.isOver) await options.uploadStore.remove(upload.sha256)
        throw error
      }
    })
  }
}

/** Gets a whole upload into the upload store. When the bytes of an earlier try are damaged, all of it comes again. */
async function bring({ key, uploadStore, transfer, signal }: UploadsOptions, upload: JobUpload): Promise<void> {
  const { sha256, size } = upload
  for (;;) {
    const incoming = await uploadStore.resume(sha256, size, signal)
    const isFresh = incoming.received === 0
    try {
      if (incoming.received < size) await transfer.fetch(key, upload, incoming, signal)
      if (incoming.finish()) return
    } finally {
      incoming.suspend()
    }
    await uploadStore.remove(sha256)
    if (isFresh) throw new TransferError('an uploaded file came with other content than its hash says')
  }
}

/** Where an upload lies below the folder of the uploads. The number keeps equal names apart. */
function uploadPath(upload: JobUpload, index: number): string {
  return join(String(index + 1), upload.name)
}

/**
 * The extra variables with the paths that the uploads have on this host. When a placeholder is the `path` of an object,
 * the object describes the upload. Then its other properties that name the place change, too.
 * @param folder where the uploads will be when the job runs
 */
export function withUploadPaths(extravars: Extravars, order: JobOrder, folder: string): Extravars {
  if (order.uploads.length === 0) return extravars
  const places = new Map(
    order.uploads.map((upload, index) => {
      const destination = join(folder, String(index + 1))
      return [upload.placeholder, { destination, filename: upload.name, path: join(destination, upload.name) }]
    }),
  )
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return places.get(value)?.path ?? value
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([name, item]) => [name, walk(item)] as const)
    const place = 'path' in value && typeof value.path === 'string' ? places.get(value.path) : undefined
    return Object.fromEntries(place ? [...entries, ...Object.entries(place)] : entries)
  }
  return walk(extravars) as Extravars
}
