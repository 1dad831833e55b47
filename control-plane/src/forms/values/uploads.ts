/** An upload that was found where this service keeps them, with what the disk says about it. */
export interface VerifiedUpload {
  readonly originalname: string
  /** Bytes on the disk. */
  readonly size: number
  /** What the playbook gets as the field's value. */
  readonly description: Readonly<Record<string, unknown>>
}
