import type { Caller } from '../../auth/sessions/caller.js'
import { ConflictError } from '../../errors.js'
import { unknownNames } from '../../forms/check/unknown-names.js'
import type { Form } from '../../forms/form.js'
import { inShapeOf, withoutDrafts } from '../../forms/sent/wizard-drafts.js'
import type { JobSummaryRow } from '../../store/jobs/jobs.js'
import { type JobFile, findJobFiles } from '../../store/uploads/uploads.js'
import { type WholeFormFields, fileKeyOf } from '../../forms/fields/file-keys.js'
import { type PlainObject, isPlainObject } from '../../forms/values/plain.js'
import { descriptionOf } from '../../uploads/description.js'
import { requireShallow } from '../record/depth.js'
import { keptValues, requireFieldValuesAllowed, requireWholeJob, withKeptFiles } from './field-values.js'
import { type LaunchDependencies, launchJob } from '../launch/launch.js'
import { stricter, refuseUnknown } from '../launch/launch-values.js'
import { requireMayLaunch } from '../launch/may-launch.js'
import { credentialNamesOf, extravarsOf, fieldValuesOf } from '../record/playbook.js'
import { passwordFieldsOf } from '../record/password-fields.js'
import { valuesOfRelaunch } from './relaunch-values.js'
import { refuseMasks } from '../secrets/sent-masks.js'
import { isEnded, jobStatusOf } from '../record/status.js'

/** How a job is run again. */
export interface RelaunchRequest {
  /** Values that replace stored field values; empty: run the job as it ran. */
  readonly values: Readonly<Record<string, unknown>>
  /** By the key of the file field: another upload, or null for none. The uploads of all other fields are used again. */
  readonly files: Readonly<Record<string, unknown>>
  readonly verbose: boolean
  /** Aborted when the client has closed the request. */
  readonly signal?: AbortSignal
}

/**
 * Checks whether the caller may run a job again at all. They need the rights to read its field values and the rights to
 * launch its form. The state of the job and the values are checked afterwards.
 * @throws NotFoundError, ForbiddenError, RefusedValuesError for a form that nobody can launch
 */
export async function requireMayRelaunch(
  dependencies: LaunchDependencies,
  caller: Caller,
  id: number,
  verbose: boolean,
): Promise<{ readonly job: JobSummaryRow; readonly form: Form }> {
  const { job, form } = await requireFieldValuesAllowed(dependencies, caller, id)
  await requireMayLaunch(dependencies, caller, { formName: form.name, extravars: { __verbose__: verbose } })
  return { job, form }
}

/**
 * Runs an ended job again, as it ran or with changes. The new job belongs to the caller. It goes the same way as every
 * launch: the present form and the present roles count.
 * @throws NotFoundError, ForbiddenError, ConflictError, and the errors of a launch; nothing is created then
 */
export async function relaunchJob(
  dependencies: LaunchDependencies,
  caller: Caller,
  id: number,
  request: RelaunchRequest,
): Promise<{ readonly id: number; readonly form: string; readonly message: string }> {
  const { store, forms, uploads } = dependencies
  const { job, form } = await requireMayRelaunch(dependencies, caller, id, request.verbose)
  requireRelaunchable(job)
  requireShallow([request.values])
  refuseMasks({ form, maskPattern: dependencies.maskPattern }, request.values)

  const { subforms, constants } = await forms.contextOf(form)
  const changes = withoutDrafts(form, request.values, 'without skipped')
  const mode = stricter(dependencies.validation, form.launchValidation)
  if (mode === 'enforce') {
    refuseUnknown(dependencies.unknownFields, unknownNames(form, subforms, changes, Object.keys(constants)))
  }
  const whole = await requireWholeJob(store.read, id)
  const files = await findJobFiles(store.read, [id])
  const bare = keptValues(whole, form, subforms)
  const kept = bare && withKeptFiles(bare, form, subforms, { files, folder: uploads.path })
  const earlier = {
    id,
    form,
    subforms,
    kept: kept && kept.values,
    extravars: extravarsOf(whole),
    passwordFields: [...form.passwordFields, ...passwordFieldsOf(whole)],
    credentials: credentialNamesOf(whole),
  }
  const { besides, ...values } = valuesOfRelaunch(earlier, changes, { mode, verbose: request.verbose })
  const parts = { fields: form.fields, wizard: form.wizard, subforms }
  const again = filesAgain(parts, files, { changes, files: request.files })
    .filter(([key]) => !kept?.inRows.has(key))
    .map(([key, file]) => [key, descriptionOf(file, uploads.path)])
  const before = fieldValuesOf(whole)
  const { id: newId } = await launchJob(dependencies, caller, {
    ...values,
    rawFormData: values.rawFormData && before ? inShapeOf(form, before, values.rawFormData) : values.rawFormData,
    formName: form.name,
    files: { ...(Object.fromEntries(again) as PlainObject), ...request.files },
    ...(request.signal ? { signal: request.signal } : {}),
    earlier: { uploads: new Set(files.map((file) => file.id)), besides },
  })
  return { id: newId, form: form.name, message: messageOf(job, newId) }
}

/** The uploads of an earlier job that are used again, by the full keys that their fields have now. */
function filesAgain(
  form: WholeFormFields,
  files: readonly JobFile[],
  asked: { readonly changes: PlainObject; readonly files: PlainObject },
): [string, JobFile][] {
  const keyNow = (given: string) => {
    const found = fileKeyOf(form, given)
    return 'key' in found ? found.key : null
  }
  const replaced = new Set(Object.keys(asked.files).map(keyNow))
  // Rows that are sent anew bring their files themselves.
  const steps = new Set(form.wizard.map(({ name }) => name))
  const sentAnew = Object.entries(asked.changes).flatMap(([name, value]) =>
    steps.has(name) && isPlainObject(value) ? Object.keys(value).map((field) => `${name}.${field}`) : [name],
  )
  const isSentAnew = (key: string) => sentAnew.some((name) => key.startsWith(`${name}[`) || key.startsWith(`${name}.`))
  return files.flatMap((file): [string, JobFile][] => {
    const key = keyNow(file.field)
    return key === null || replaced.has(key) || isSentAnew(key) ? [] : [[key, file]]
  })
}

/**
 * An abandoned job counts as ended, so that people can go on when a runner never comes back. The message says that the
 * old job may still run, so whoever runs it again knows.
 * @throws ConflictError
 */
export function requireRelaunchable(job: JobSummaryRow): void {
  if (job.parent_id !== null) {
    throw new ConflictError(
      'part_of_a_job',
      `Job ${job.id} is a child job of job ${job.parent_id} and cannot run alone: relaunch job ${job.parent_id}`,
    )
  }
  if (!isEnded(jobStatusOf(job.status))) {
    throw new ConflictError('not_ended', `Job ${job.id} has not ended but is ${job.status}`)
  }
}

function messageOf(job: JobSummaryRow, newId: number): string {
  const done = `Job ${job.id} was launched again as job ${newId}`
  if (job.status !== 'abandoned') return done
  return `${done}; job ${job.id} was given up, and may still be at work on the runner '${job.runner_name ?? 'unknown'}'`
}
