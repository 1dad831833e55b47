import type { Caller } from '../../auth/sessions/caller.js'
import { type WholeFormFields, fileKeyOf } from '../../forms/fields/file-keys.js'
import { filesInRows } from '../../forms/values/row-files.js'
import type { LaunchUpload } from '../../forms/values/uploads.js'
import type { PlainObject } from '../../forms/values/plain.js'
import type { Queries } from '../../store/store.js'
import type { UploadFolder } from '../../uploads/upload-folder.js'
import { type UploadFacts, type UploadProblem, uploadProblem, verifyUploads } from '../../uploads/verify.js'

/** The uploads of a launch, as they were found. */
export interface LaunchFiles {
  readonly facts: readonly UploadFacts[]
  /** The problems of the uploads that cannot be used. */
  readonly problems: readonly UploadProblem[]
  /** The same by the full keys of the file fields, for the check of the form. */
  readonly verified: Readonly<Record<string, LaunchUpload>>
}

/** What a launch says of its files. */
interface NamedFiles {
  /** By the key of the file field. See `fileKeyOf`. */
  readonly files: PlainObject
  /** Field values. Their rows may name uploads. */
  readonly values: PlainObject | null
  /** Uploads of the job that is run again. */
  readonly earlier?: ReadonlySet<number> | undefined
}

/**
 * Looks up the uploads that a launch names. A form accepts uploads for its own file fields only. What `files` has for a row
 * counts before what the row itself names.
 */
export async function launchFiles(
  service: { readonly queries: Queries; readonly folder: UploadFolder },
  form: WholeFormFields,
  caller: Caller,
  { files, values, earlier }: NamedFiles,
): Promise<LaunchFiles> {
  const { named, problems: ofKeys } = byFullKey(form, files)
  const claims = new Map([...filesInRows(form, values ?? {}), ...named])
  const found = await verifyUploads(service, caller, Object.fromEntries(claims), earlier)
  const facts = [...found.facts.values()]
  const problems = [...ofKeys, ...found.problems]
  const verified = Object.fromEntries([
    ...facts.map(({ field, description }): [string, LaunchUpload] => {
      const { originalname, size } = description
      return [field, { originalname, size, description: { ...description } }]
    }),
    ...problems.map(({ field, reason, message }): [string, LaunchUpload] => [
      field,
      { problem: { type: reason, description: message } },
    ]),
  ])
  return { facts, problems, verified }
}

/** What `files` of a launch has, by the full keys of the file fields. */
function byFullKey(form: WholeFormFields, files: PlainObject) {
  const named = new Map<string, unknown>()
  const problems: UploadProblem[] = []
  for (const [given, claim] of Object.entries(files)) {
    const found = fileKeyOf(form, given)
    if (!('key' in found)) problems.push(uploadProblem(given, found.problem, found.keys))
    else if (named.has(found.key)) problems.push(uploadProblem(found.key, 'twice'))
    else named.set(found.key, claim)
  }
  return { named, problems }
}

/**
 * The uploads that go to the runner: those whose path is in the extra variables. The files of hidden fields, and of
 * fields without output, are not sent.
 */
export function filesOfExtravars(
  files: readonly UploadFacts[],
  extravars: Readonly<Record<string, unknown>>,
): UploadFacts[] {
  if (files.length === 0) return []
  const text = JSON.stringify(extravars)
  return files.filter(({ description }) => text.includes(JSON.stringify(description.path)))
}
