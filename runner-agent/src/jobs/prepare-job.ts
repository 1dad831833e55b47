import type { JobOrder } from '@holdfast/protocol'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobCache } from '../files/blob-cache.js'
import type { BlobTransfer } from '../files/blob-transfer.js'
import { gatherInputs } from '../files/gather.js'
import { gatherUploads, withUploadPaths } from '../files/gather-uploads.js'
import type { UploadStore } from '../files/upload-store.js'
import type { UploadTransfer } from '../files/upload-transfer.js'
import { extravarsText, requireShallow } from '../playbook/plan.js'
import type { StagedJob } from '../spool/spool.js'

/** Where the files of a job come from. */
export interface JobSources {
  readonly cache: BlobCache
  readonly uploadStore: UploadStore
  readonly transfer: BlobTransfer
  readonly uploads: UploadTransfer
  /** Permission bits that nothing in the work folder gets; null: the playbooks are on this host. */
  readonly filesUmask: number | null
  readonly signal: AbortSignal
}

/**
 * Makes everything that a job needs before its claim: the work folder, the uploaded files and the variables. All of it
 * goes into a staging folder that nobody else reads.
 * @throws the errors of the transfers; the system's error; the signal's reason when it is aborted
 */
export async function prepareJob(order: JobOrder, staged: StagedJob, sources: JobSources): Promise<void> {
  const { cache, uploadStore, transfer, filesUmask, signal } = sources
  const { key } = staged.destination
  const workFolder = filesUmask === null ? null : { path: join(staged.path, 'work'), umask: filesUmask }
  const extravars = await gatherInputs({ key, order, cache, transfer, workFolder, signal })
  const folder = join(staged.path, 'uploads')
  await gatherUploads({ key, order, uploadStore, transfer: sources.uploads, folder, signal })
  requireShallow(extravars)
  const placed = withUploadPaths(extravars, order, staged.destination.file('uploads'))
  await writeFile(join(staged.path, 'extravars.yml'), extravarsText(placed, order.allow_jinja), { mode: 0o600 })
  signal.throwIfAborted()
}
