import { setImmediate as letOthersRun } from 'node:timers/promises'
import { HoldfastError } from '../../errors.js'
import type { Approval, Form, FormContext } from '../../forms/form.js'
import { valuesToStore } from '../../forms/sent/stored-values.js'
import { inShapeOf, withoutDrafts } from '../../forms/sent/wizard-drafts.js'
import { createSecretFinder } from '../../secrets/secret-finder.js'
import type { UploadFacts } from '../../uploads/verify.js'
import { credentialFieldsOf, requireDeclaredNames, requireKnownNames } from '../needs/credential-needs.js'
import { maskValues } from '../secrets/masking.js'
import { type LaunchSecrets, maskSecrets } from '../secrets/secret-values.js'
import { userVariable } from './extravars.js'
import type { LaunchFacts } from './launch-facts.js'
import { filesOfExtravars } from './launch-files.js'
import { secretsOfLaunch } from './launch-passwords.js'
import { type LaunchValues, stricter, valuesOfLaunch } from './launch-values.js'
import type { Launchable } from './may-launch.js'
import { type PlannedJob, planJob } from './plan-job.js'
import { type PlannedParentJob, planSequence } from './plan-sequence.js'

/** What a launch will do. */
export interface LaunchPlan {
  readonly job: PlannedJob & Partial<Pick<PlannedParentJob, 'sequence' | 'jobs'>>
  readonly values: LaunchValues
  /** The uploads that the runner gets. */
  readonly files: readonly UploadFacts[]
  /** The field values as they are stored; null: the launch has none. */
  readonly fieldValues: unknown
  /** The approval that the job has to wait for, and the variables that its texts may show; null: none. */
  readonly approval: { readonly asked: Approval; readonly shown: unknown } | null
}

/** A plan, or the error with which the launch is refused. */
export type Planned = { readonly plan: LaunchPlan } | { readonly refusal: HoldfastError }

/**
 * Decides what a launch does. Evaluating a form, launching it, running a job again, and the schedules all ask here, so
 * all of them say the same. It reads and writes nothing. It only lets others run between its steps, because the values
 * may be megabytes.
 */
export async function planLaunch(facts: LaunchFacts): Promise<Planned> {
  try {
    return { plan: await planOrThrow(facts) }
  } catch (error) {
    if (error instanceof HoldfastError) return { refusal: error }
    throw error
  }
}

async function planOrThrow(facts: LaunchFacts): Promise<LaunchPlan> {
  const { form, context, request, rules, launchable, sentFormData } = facts
  const { subforms } = context
  if (facts.refusedBefore) throw facts.refusedBefore
  const values = valuesOfLaunch(facts, facts.check)
  if (!request.earlier) {
    requireDeclaredNames(declaredOf(launchable, subforms, values.values), request.credentials)
    const isChecked = stricter(rules.validation, form.launchValidation) === 'enforce'
    if (isChecked) requireKnownNames(facts.hasCredential, facts.caller, request.credentials)
  }
  const { rawFormData } = request
  const secrets = secretsOfLaunch({ form, subforms, rawFormData, extravars: values.values, checked: values.passwords })
  await letOthersRun()
  const job = await planJobs(facts, values, secrets)
  await letOthersRun()
  const fieldValues = sentFormData && (await fieldValuesToStore(form, subforms, sentFormData, secrets))
  // A job that cannot run asks nobody for an approval.
  const asked = job.problem === null ? form.approval : null
  return {
    job,
    values,
    files: filesOfExtravars(values.files, job.extravars),
    fieldValues,
    approval: asked && { asked, shown: maskValues(job.shown, rules.maskPattern, new Set(form.passwordFields)) },
  }
}

/** The job of a form, or the parent job with its child jobs. */
async function planJobs(
  facts: LaunchFacts,
  { values, credentials }: LaunchValues,
  secrets: LaunchSecrets,
): Promise<LaunchPlan['job']> {
  const { caller, context, launchable } = facts
  const { form, planned } = launchable
  const common = {
    values: { ...values, ansibleforms_user: userVariable(caller, form.userExtravars) },
    credentialFields: credentialFieldsOf(form, context.subforms),
    credentials,
    secrets,
  }
  if (planned) return planSequence(facts, caller, form, planned, common)
  return planJob(facts, caller, { settings: form, ...common })
}

/** The variables for which a launch may name a credential. A field `__credentials__` adds those of its value. */
function declaredOf(
  { form, planned }: Launchable,
  subforms: FormContext['subforms'],
  { __credentials__: chosen }: LaunchValues['values'],
): Set<string> {
  const parts = [form, ...(planned?.jobs.map(({ settings }) => settings) ?? [])]
  return new Set([
    ...parts.flatMap((part) => Object.keys(part.credentials)),
    ...Object.keys(chosen ?? {}),
    ...credentialFieldsOf(form, subforms),
  ])
}

/**
 * The field values as they are stored: in the shape in which they came, without passwords, and with a mask in place of
 * each value that contains a password.
 */
async function fieldValuesToStore(
  form: Form,
  subforms: FormContext['subforms'],
  rawFormData: Readonly<Record<string, unknown>>,
  secrets: LaunchSecrets,
): Promise<unknown> {
  const values = valuesToStore({ ...form, subforms }, withoutDrafts(form, rawFormData, 'with skipped'))
  const kept = inShapeOf(form, rawFormData, values)
  // There are no passwords to look for, and a walk through the largest values takes tens of milliseconds.
  if (secrets.values.length === 0) return kept
  await letOthersRun()
  return maskSecrets(kept, createSecretFinder(secrets.values), new Set(), false)
}
