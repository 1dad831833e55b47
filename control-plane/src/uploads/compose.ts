import type { Ground } from '../ground/ground.js'
import type { Store } from '../store/store.js'
import type { UploadQuotas } from './room.js'
import { createUploadSweeper } from './sweeper.js'
import { type UploadFolderDependencies, openUploadFolder } from './upload-folder.js'
import { createUploads } from './uploads.js'

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
  /** The free bytes of a disk. Left out: the system is asked. */
  readonly freeBytes?: UploadFolderDependencies['freeBytes']
}

/** The parts of this room, ready to use. */
export type UploadParts = Awaited<ReturnType<typeof composeUploads>>

/** Builds the folder of uploaded files, what stores files in it, and what removes the files that nobody needs. */
export async function composeUploads(ground: Ground, settings: UploadSettings, { store, freeBytes }: UploadNeeds) {
  const { clock, timers, random, log, onClose } = ground
  const folder = await openUploadFolder({ path: settings.uploadPath, random, freeBytes })
  const sweeper = createUploadSweeper({ store, folder, clock, timers, log })
  onClose(() => sweeper.close())
  const { uploadMaxBytes: maxBytes, uploadQuotas: quotas } = settings
  return { folder, sweeper, uploads: createUploads({ store, clock, folder, maxBytes, quotas }) }
}
