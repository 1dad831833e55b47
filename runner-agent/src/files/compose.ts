import { type BlobCache, openBlobCache } from './blob-cache.js'
import { openUploadStore, type UploadStore } from './upload-store.js'

/** The parts of this room. */
export interface FileParts {
  readonly cache: BlobCache
  readonly uploadStore: UploadStore
}

/** What this host keeps of files that the control plane has sent. */
export async function composeFiles(settings: {
  readonly statePath: string
  readonly cacheBytes: number
}): Promise<FileParts> {
  return {
    cache: await openBlobCache(settings.statePath, settings.cacheBytes),
    uploadStore: openUploadStore(settings.statePath),
  }
}
