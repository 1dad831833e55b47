import type { JobOrder } from '@holdfast/protocol'
import type { JobFile } from '../../store/uploads/uploads.js'

/** An order and, when the extra variables are too large for it, their JSON as a blob. */
export interface PreparedOrder {
  readonly order: JobOrder
  readonly extravarsBlob: Buffer | null
  /** The uploads of the job, as stored. */
  readonly files: readonly JobFile[]
}
