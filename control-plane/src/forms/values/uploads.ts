/** An upload that was found in the folder of this service, with facts from the disk. */
export interface VerifiedUpload {
  readonly originalname: string
  /** Bytes on the disk. */
  readonly size: number
  /** The value of the field that the playbook gets. */
  readonly description: Readonly<Record<string, unknown>>
}

/** What a launch names as an upload, and may not use. */
export interface RefusedUpload {
  readonly problem: { readonly type: string; readonly description: string }
}

/** An upload that a launch names for a file field. */
export type LaunchUpload = VerifiedUpload | RefusedUpload

/** Whether the launch may use the upload. */
export function isVerified(upload: LaunchUpload): upload is VerifiedUpload {
  return 'size' in upload
}
