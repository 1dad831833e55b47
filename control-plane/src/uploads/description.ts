import { join } from 'node:path'
import type { UploadRow } from '../store/uploads/uploads.js'

/** What the service answers to an upload. A job finds the same in the variable of its file field. */
export interface UploadDescription {
  /** Name of the multipart part. */
  readonly fieldname: string
  /** Name that the file has on the computer of the user. */
  readonly originalname: string
  readonly encoding: string
  readonly mimetype: string
  /** Folder of the stored file. */
  readonly destination: string
  readonly filename: string
  /** `destination` and `filename`. */
  readonly path: string
  readonly size: number
}

/** The name that the multipart part of an upload must have. */
export const FILE_PART = 'file'

/**
 * The description of a stored upload.
 * @param destination the upload folder
 */
export function descriptionOf(
  upload: Pick<UploadRow, 'stored_name' | 'original_name' | 'encoding' | 'mime_type' | 'size'>,
  destination: string,
): UploadDescription {
  return {
    fieldname: FILE_PART,
    originalname: upload.original_name,
    encoding: upload.encoding,
    mimetype: upload.mime_type,
    destination,
    filename: upload.stored_name,
    path: join(destination, upload.stored_name),
    size: upload.size,
  }
}
