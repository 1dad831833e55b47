import type { Caller } from '../../auth/caller.js'
import { ForbiddenError, NotFoundError } from '../../errors.js'
import type { Form, Forms } from '../../forms/form.js'
import type { Field } from '../../forms/fields/field.js'
import { valuesToStore } from '../../forms/stored-values.js'
import type { PlainObject } from '../../forms/values/plain.js'
import { type JobRow, type JobSummaryRow, findJob } from '../../store/jobs/jobs.js'
import type { Queries, Store } from '../../store/store.js'
import { fieldValuesOf } from '../record/playbook.js'
import { requireManageable } from '../record/visibility.js'

export interface FieldValuesDependencies {
  readonly store: Pick<Store, 'read'>
  readonly forms: Forms
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
  const { store, forms } = dependencies
  const { form } = await requireFieldValuesAllowed(dependencies, caller, id)
  const { subforms } = await forms.contextOf(form)
  const values = keptValues(await requireWholeJob(store.read, id), form, subforms)
  if (values === null) {
    throw new NotFoundError('no_field_values', `Job ${id} was launched without field values, so none were kept`)
  }
  return { ...values }
}

/**
 * A job whose field values the caller may have, and its form. It has to be their own job, or any job for an admin or a
 * role with `manageAllJobs`. They need the role option `allowJobRelaunch`, and the form has to allow relaunch. A form
 * that is gone does not allow it.
 * @throws NotFoundError, ForbiddenError
 */
export async function requireFieldValuesAllowed(
  { store, forms }: FieldValuesDependencies,
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
 * The field values that were stored with a job; null when it was launched without any. Fields that have become password
 * fields or file fields since are left out. Values of fields that are gone stay.
 */
export function keptValues(
  job: Pick<JobRow, 'raw_form_data'>,
  form: Pick<Form, 'fields' | 'wizard'>,
  subforms: Readonly<Record<string, readonly Field[]>>,
): PlainObject | null {
  const values = fieldValuesOf(job)
  if (values === null) return null
  const declared = new Set([...form.fields, ...form.wizard].map(({ name }) => name))
  const others = Object.entries(values).filter(([name]) => !declared.has(name))
  return { ...Object.fromEntries(others), ...valuesToStore({ ...form, subforms }, values) }
}
