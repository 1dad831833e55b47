import type { Caller } from '../auth/caller.js'
import { RefusedValuesError } from '../errors.js'
import type { AnsibleForm } from '../forms/form.js'
import type { Queries } from '../store/store.js'
import type { UploadFolder } from '../uploads/upload-folder.js'
import { type UploadFacts, type UploadProblem, problemOf, verifyUploads } from '../uploads/verify.js'

/**
 * The uploads of a launch, checked; a form takes them for its file fields only.
 * @throws RefusedValuesError naming every field whose upload cannot be used
 */
export async function launchFiles(
  service: { readonly queries: Queries; readonly folder: UploadFolder },
  form: AnsibleForm,
  caller: Caller,
  files: Readonly<Record<string, unknown>>,
): Promise<UploadFacts[]> {
  const declared = new Set(form.fileFields)
  const { facts, problems } = await verifyUploads(service, caller, files)
  const strangers = Object.keys(files).filter((field) => !declared.has(field))
  const all = [
    ...strangers.map((field) => problemOf(field, 'no_file_field')),
    ...problems.filter(({ field }) => declared.has(field)),
  ]
  if (all.length > 0) throw refuseUploads(all)
  return [...facts.values()]
}

/** The refusal that names each field and what is wrong with its upload. */
export function refuseUploads(uploads: readonly UploadProblem[]): RefusedValuesError {
  const [first] = uploads
  const text = first ? `The upload for '${first.field}' cannot be used: ${first.message}` : 'An upload cannot be used'
  return new RefusedValuesError('uploads_refused', text, { uploads })
}

/**
 * What a client sent as extra variables, with the uploads in the variables of their fields. What the client itself wrote
 * there is dropped: a path of its own choice is nothing that a playbook may trust.
 */
export function withFileVariables(
  form: AnsibleForm,
  sent: Readonly<Record<string, unknown>>,
  files: readonly UploadFacts[],
): Record<string, unknown> {
  const dropped = new Set(form.fileFields)
  const kept = Object.entries(sent).filter(([name]) => !dropped.has(name))
  return Object.fromEntries([...kept, ...files.map(({ field, description }) => [field, description] as const)])
}
