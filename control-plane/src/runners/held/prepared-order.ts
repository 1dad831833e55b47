import type { JobOrder } from '@holdfast/protocol'
import type { JobFile } from '../../store/uploads/uploads.js'

/** An order, with its extra variables as a blob of JSON if they are too large for the order. */
export interface PreparedOrder {
  readonly order: JobOrder
  readonly extravarsBlob: Buffer | null
  /** The uploads of the job, as stored. */
  readonly files: readonly JobFile[]
}
