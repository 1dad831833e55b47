import type { Caller } from '../../auth/sessions/caller.js'
import type { Form } from '../../forms/form.js'
import type { VerifiedUpload } from '../../forms/values/uploads.js'
import type { Queries } from '../../store/store.js'
import type { UploadFolder } from '../../uploads/upload-folder.js'
import { type UploadFacts, type UploadProblem, uploadProblem, verifyUploads } from '../../uploads/verify.js'

/** The uploads of a launch, as they were found. */
export interface LaunchFiles {
  readonly facts: readonly UploadFacts[]
  /** The problems of the uploads that cannot be used. */
  readonly problems: readonly UploadProblem[]
  /** The uploads by file field, for the check of the form. Null: an upload that cannot be used. */
  readonly verified: Readonly<Record<string, VerifiedUpload | null>>
}

/**
 * Looks up the uploads that a launch names. A form accepts uploads for its own file fields only.
 * @param launch.earlier uploads of the job that is run again
 */
export async function launchFiles(
  service: { readonly queries: Queries; readonly folder: UploadFolder },
  form: Pick<Form, 'fields'>,
  caller: Caller,
  { files, earlier }: { readonly files: Readonly<Record<string, unknown>>; readonly earlier?: ReadonlySet<number> },
): Promise<LaunchFiles> {
  const declared = new Set(form.fields.filter((field) => field.type === 'file').map((field) => field.name))
  const strangers = Object.keys(files).filter((field) => !declared.has(field))
  const own = Object.fromEntries(Object.entries(files).filter(([field]) => declared.has(field)))
  const found = await verifyUploads(service, caller, own, earlier)
  const facts = [...found.facts.values()]
  const problems = [...strangers.map((field) => uploadProblem(field, 'no_file_field')), ...found.problems]
  const verified = Object.fromEntries([
    ...facts.map(({ field, description }): [string, VerifiedUpload] => {
      const { originalname, size } = description
      return [field, { originalname, size, description: { ...description } }]
    }),
    ...problems.map(({ field }): [string, null] => [field, null]),
  ])
  return { facts, problems, verified }
}

/**
 * The uploads that go to the runner: those whose path is in the extra variables. The file of a hidden field stays here,
 * and so does the file of a field without output.
 */
export function filesOfExtravars(
  files: readonly UploadFacts[],
  extravars: Readonly<Record<string, unknown>>,
): UploadFacts[] {
  if (files.length === 0) return []
  const text = JSON.stringify(extravars)
  return files.filter(({ description }) => text.includes(JSON.stringify(description.path)))
}
