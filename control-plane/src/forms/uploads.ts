/** An upload that was found where this service keeps them, with what the disk says about it. */
export interface VerifiedUpload {
  readonly originalname: string
  /** Bytes on the disk. */
  readonly size: number
  /** What the playbook gets as the field's value. */
  readonly description: Readonly<Record<string, unknown>>
}

/** Checks what a launch claims about an upload; a description is only a claim. */
export interface UploadVerifier {
  /** @returns null when no upload of this service is meant by it */
  verify(description: unknown): Promise<VerifiedUpload | null>
}

/** Where no uploads are kept, nothing can be one. */
export const noUploads: UploadVerifier = { verify: () => Promise.resolve(null) }
