import type { Caller } from '../../auth/sessions/caller.js'
import { ForbiddenError, NotFoundError } from '../../errors.js'
import type { Form, Forms } from '../../forms/form.js'
import type { Field } from '../../forms/fields/field.js'
import { valuesToStore } from '../../forms/sent/stored-values.js'
import { inShapeOf, withoutDrafts } from '../../forms/sent/wizard-drafts.js'
import type { PlainObject } from '../../forms/values/plain.js'
import { isInRow } from '../../forms/fields/file-keys.js'
import { withFilesInRows } from '../../forms/values/row-files.js'
import { type JobFile, findJobFiles } from '../../store/uploads/uploads.js'
import { descriptionOf } from '../../uploads/description.js'
import type { UploadFolder } from '../../uploads/upload-folder.js'
import { type JobRow, type JobSummaryRow, findJob } from '../../store/jobs/jobs.js'
import type { Queries, Store } from '../../store/store.js'
import { fieldValuesOf } from '../record/playbook.js'
import { requireManageable } from '../record/visibility.js'

/** What reading field values needs of other parts. */
export interface FieldValuesDependencies {
  readonly store: Pick<Store, 'read'>
  readonly forms: Forms
  readonly uploads: Pick<UploadFolder, 'path'>
}

/**
 * The field values that a job was launched with, without passwords. No value is hidden because of its name, because
 * whoever may run the job again has to know its values. A mask stands where a value contained a password.
 * @throws NotFoundError, ForbiddenError
 */
export async function readFieldValues(
  dependencies: FieldValuesDependencies,
  caller: Caller,
  id: number,
): Promise<Record<string, unknown>> {
  const { store, forms, uploads } = dependencies
  const { form } = await requireFieldValuesAllowed(dependencies, caller, id)
  const { subforms } = await forms.contextOf(form)
  const values = fieldValuesOf(await requireWholeJob(store.read, id))
  if (values === null) {
    throw new NotFoundError('no_field_values', `Job ${id} was launched without field values, so none were kept`)
  }
  const files = await findJobFiles(store.read, [id])
  const kept = withoutSecrets(withoutDrafts(form, values, 'with skipped'), form, subforms)
  const { values: shown } = withKeptFiles(kept, form, subforms, { files, folder: uploads.path })
  return { ...inShapeOf(form, values, shown) }
}

/**
 * A job whose field values the caller may have, and its form. It has to be their own job, or any job for an admin or a
 * role with `manageAllJobs`. They need the role option `allowJobRelaunch`, and the form has to allow relaunch. A form
 * that is gone does not allow it.
 * @throws NotFoundError, ForbiddenError
 */
export async function requireFieldValuesAllowed(
  { store, forms }: Pick<FieldValuesDependencies, 'store' | 'forms'>,
  caller: Caller,
  id: number,
): Promise<{ readonly job: JobSummaryRow; readonly form: Form }> {
  const job = await requireManageable(store.read, caller, id)
  if (!caller.isAdmin && !caller.options.allowJobRelaunch) {
    throw new ForbiddenError('relaunch_not_allowed', 'Your roles do not allow you to relaunch jobs')
  }
  const form = await forms.find(job.form)
  if (!form.allowRelaunch) {
    throw new ForbiddenError(
      'form_forbids_relaunch',
      `The form '${form.name}' does not allow its jobs to be relaunched`,
    )
  }
  return { job, form }
}

/** The job with its long texts. @throws NotFoundError when somebody has deleted it since */
export async function requireWholeJob(queries: Queries, id: number): Promise<JobRow> {
  const job = await findJob(queries, id)
  if (!job) throw new NotFoundError('job_not_found', `There is no job ${id}`)
  return job
}

/**
 * The field values that were kept with a job, in the shape of this service; null when it was launched without any.
 * Values of fields that have become password fields or file fields meanwhile are left out. Values of removed fields
 * stay.
 */
export function keptValues(
  job: Pick<JobRow, 'raw_form_data'>,
  form: Pick<Form, 'fields' | 'wizard'>,
  subforms: Readonly<Record<string, readonly Field[]>>,
): PlainObject | null {
  const values = fieldValuesOf(job)
  return values && withoutSecrets(withoutDrafts(form, values, 'without skipped'), form, subforms)
}

/**
 * Kept field values with the uploads of their rows. A row carries its file, so that the file stays with the row when rows
 * are added, moved or removed. The uploads of all other fields belong to the field, and are no values.
 * @returns the values, and the keys of the uploads that are in them
 */
export function withKeptFiles(
  values: PlainObject,
  form: Pick<Form, 'fields' | 'wizard'>,
  subforms: Readonly<Record<string, readonly Field[]>>,
  { files, folder }: { readonly files: readonly JobFile[]; readonly folder: string },
): { readonly values: PlainObject; readonly inRows: ReadonlySet<string> } {
  const { fields, wizard } = form
  const byKey = new Map(files.filter(({ field }) => isInRow(form, field)).map((file) => [file.field, file]))
  const inRows = new Set<string>()
  if (byKey.size === 0) return { values, inRows }
  const found = withFilesInRows({ fields, wizard, subforms }, values, (key) => {
    const file = byKey.get(key)
    if (!file) return undefined
    inRows.add(key)
    return descriptionOf(file, folder)
  })
  return { values: found, inRows }
}

function withoutSecrets(
  values: PlainObject,
  form: Pick<Form, 'fields' | 'wizard'>,
  subforms: Readonly<Record<string, readonly Field[]>>,
): PlainObject {
  const declared = new Set([...form.fields, ...form.wizard].map(({ name }) => name))
  const others = Object.entries(values).filter(([name]) => !declared.has(name))
  return { ...Object.fromEntries(others), ...valuesToStore({ ...form, subforms }, values) }
}
