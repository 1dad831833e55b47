import { MAX_JOB_UPLOADS } from '@holdfast/protocol'
import type { Queries } from '../store/store.js'
import { findUpload } from '../store/uploads/uploads.js'
import { type UploadDescription, descriptionOf } from './description.js'
import type { UploadFolder } from './upload-folder.js'

/** An upload that a launch may use. Everything in it is from the database and the disk, nothing from the request. */
export interface UploadFacts {
  /** The full key of the file field: `field`, `step.field`, in a row `list[0].field`. */
  readonly field: string
  readonly uploadId: number
  readonly sha256: string
  /** The value of the field's variable. */
  readonly description: UploadDescription
}

/** Why a launch may not use what it names as the file of a field. */
export interface UploadProblem {
  readonly field: string
  /** A stable word for programs. */
  readonly reason: UploadProblemReason
  /** One sentence for people. */
  readonly message: string
}

const MESSAGES = {
  no_file_field: 'the form has no file field of this name',
  ambiguous: 'several steps have a file field of this name',
  twice: 'the launch names two files for this field',
  too_many: `a job may have ${MAX_JOB_UPLOADS} files`,
  invalid: 'this is not the description that an upload was answered with',
  outside: 'the path does not lie in the upload folder',
  unknown: 'there is no such upload; uploads that no job uses are removed after a day',
  foreign: 'another user uploaded this file',
  missing:
    'the uploaded file is not in the upload folder (any more); several nodes need one folder that all of them see',
  changed: 'the stored file is not the one that was uploaded',
} as const

/** Why an upload cannot be used. */
export type UploadProblemReason = keyof typeof MESSAGES

/** The uploads of a launch after their check. */
export interface VerifiedUploads {
  /** By field; fields without a file are not in it. */
  readonly facts: ReadonlyMap<string, UploadFacts>
  readonly problems: readonly UploadProblem[]
}

/** Who wants to use an upload. */
export interface UploadUser {
  readonly id: number
  readonly isAdmin: boolean
}

/**
 * Checks what a launch says of its files. A description is only a claim of the caller. So the file must lie in the upload
 * folder, this service must have stored it, and the caller must own it. An admin may use the files of everybody.
 * @param files description by field; null means no file
 * @param granted ids of uploads that the caller may use although they are another user's
 */
export async function verifyUploads(
  { queries, folder }: { readonly queries: Queries; readonly folder: UploadFolder },
  caller: UploadUser,
  files: Readonly<Record<string, unknown>>,
  granted: ReadonlySet<number> = new Set(),
): Promise<VerifiedUploads> {
  const facts = new Map<string, UploadFacts>()
  const problems: UploadProblem[] = []
  const given = Object.entries(files).filter(([, claim]) => claim !== null && claim !== undefined)
  for (const [field] of given.slice(MAX_JOB_UPLOADS)) problems.push(uploadProblem(field, 'too_many'))
  for (const [field, claim] of given.slice(0, MAX_JOB_UPLOADS)) {
    const found = await verifyOne({ queries, folder, caller, granted }, claim)
    if (typeof found === 'string') problems.push(uploadProblem(field, found))
    else facts.set(field, { field, ...found })
  }
  return { facts, problems }
}

/**
 * Makes the {@link UploadProblem} of a field, with its sentence.
 * @param meant names that may have been meant
 */
export function uploadProblem(
  field: string,
  reason: UploadProblemReason,
  meant: readonly string[] = [],
): UploadProblem {
  const message = MESSAGES[reason]
  return { field, reason, message: meant.length === 0 ? message : `${message}: ${meant.join(', ')}` }
}

async function verifyOne(
  {
    queries,
    folder,
    caller,
    granted,
  }: {
    readonly queries: Queries
    readonly folder: UploadFolder
    readonly caller: UploadUser
    readonly granted: ReadonlySet<number>
  },
  claim: unknown,
): Promise<Omit<UploadFacts, 'field'> | UploadProblemReason> {
  if (typeof claim !== 'object' || claim === null) return 'invalid'
  const path = 'path' in claim ? claim.path : undefined
  const filename = 'filename' in claim ? claim.filename : undefined
  if (typeof path !== 'string') return 'invalid'
  const storedName = folder.storedNameOf(path)
  if (storedName === null) return 'outside'
  if (filename !== undefined && filename !== storedName) return 'invalid'
  const upload = await findUpload(queries, storedName)
  if (!upload) return 'unknown'
  const isOwn = upload.owner_id === caller.id
  if (!isOwn && !caller.isAdmin && !granted.has(upload.id)) return 'foreign'
  const size = await folder.sizeOf(storedName)
  if (size === null) return 'missing'
  if (size !== upload.size) return 'changed'
  return { uploadId: upload.id, sha256: upload.sha256, description: descriptionOf(upload, folder.path) }
}
