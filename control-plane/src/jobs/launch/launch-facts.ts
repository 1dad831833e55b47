import { setImmediate as letOthersRun } from 'node:timers/promises'
import type { Caller } from '../../auth/sessions/caller.js'
import type { Credentials } from '../../credentials/stored/credentials.js'
import { HoldfastError } from '../../errors.js'
import type { CheckInput, CheckResult } from '../../forms/check/context.js'
import type { Forms } from '../../forms/form.js'
import type { AskingChecks } from '../../forms/sandbox/asking-checks.js'
import { withSentPasswords } from '../../forms/sent/passwords.js'
import type { PlainObject } from '../../forms/values/plain.js'
import type { Store } from '../../store/store.js'
import type { Clock } from '../../time/clock.js'
import type { UploadFolder } from '../../uploads/upload-folder.js'
import { credentialFieldsOf, mayUseCredential } from '../needs/credential-needs.js'
import { type JobFacts, readCredentials } from '../needs/job-facts.js'
import { requireShallow } from '../record/depth.js'
import type { SequencePort } from '../record/sequence-port.js'
import { userVariable } from './extravars.js'
import { launchFiles } from './launch-files.js'
import { type LaunchRequest, inOwnShape } from './launch-request.js'
import { type SentValues, type ValueRules, modeOf, requireCheckable } from './launch-values.js'
import { type Launchable, requireMayLaunch } from './may-launch.js'
import type { Asker } from '../../sources/question.js'

/** What reading the facts of a launch needs of other parts. */
export interface LaunchReading extends ValueRules {
  readonly store: Pick<Store, 'read'>
  readonly forms: Forms
  readonly clock: Clock
  readonly sequences: SequencePort
  readonly checks: AskingChecks
  readonly credentials: Pick<Credentials, 'has'>
  readonly uploads: UploadFolder
}

/** How the values are checked. */
export interface Checking {
  /** How long the check waits for the sources of the form, in milliseconds. */
  readonly waitMs: number
  /** True for somebody who fills in the form: answers that are known may be used, and the result says how to show it. */
  readonly isShowing: boolean
  /** Rows of lists to show, too. */
  readonly rowsToShow?: CheckInput['rowsToShow']
}

/** Everything that the plan of a launch depends on, as it was read. */
export interface LaunchFacts extends SentValues, JobFacts {
  readonly caller: Caller
  readonly rules: ValueRules
  readonly launchable: Launchable
  /** The field values as the client sent them. They are stored in this shape. */
  readonly sentFormData: PlainObject | null
  /** Why the values need not be checked: they are refused in any case. */
  readonly refusedBefore: HoldfastError | null
  /** What the check of the values found; null: they were not checked. */
  readonly check: CheckResult | null
}

/**
 * Reads everything that the plan of a launch depends on: the form, its runners and credentials, the uploads, and what
 * the check of the values finds.
 * @throws NotFoundError, ForbiddenError, RefusedValuesError for a form that the caller cannot launch at all,
 *   InvalidInputError, TooManyError, UnavailableError
 */
export async function readLaunchFacts(
  deps: LaunchReading,
  caller: Caller,
  asked: LaunchRequest,
  checking: Checking,
): Promise<LaunchFacts> {
  requireShallow([asked.extravars, asked.rawFormData, asked.credentials, asked.files])
  // Each of the next steps may go through megabytes of values. Other requests get their turn in between.
  await letOthersRun()
  const { runnerOf, ...launchable } = await requireMayLaunch(deps, caller, asked)
  const sent = await readSentValues(deps, caller, launchable, asked)
  const { form, context, request } = sent
  const refusedBefore = refusalOf(() => requireCheckable(deps, sent))
  const isChecked = checking.isShowing || (sent.mode === 'enforce' && refusedBefore === null)
  const check = isChecked ? await checkValues(deps, caller, sent, checking) : null
  await letOthersRun()
  const values = [request.extravars, request.earlier?.besides ?? {}, check?.extravars ?? {}]
  const children = launchable.planned?.jobs ?? []
  const hasCredential = await readCredentials(deps.credentials, {
    settings: [form, ...children.map(({ settings }) => settings)],
    values: [...values, ...children.flatMap((child) => values.map(child.values))],
    sent: [request.credentials, check?.credentials ?? {}],
    fields: credentialFieldsOf(form, context.subforms),
  })
  const { validation, unknownFields, maskPattern } = deps
  return {
    ...sent,
    caller,
    rules: { validation, unknownFields, maskPattern },
    launchable,
    sentFormData: asked.rawFormData,
    refusedBefore,
    check,
    runnerOf,
    hasCredential,
  }
}

/** What the launch says, and the files that it names. */
async function readSentValues(
  deps: LaunchReading,
  caller: Caller,
  { form }: Launchable,
  asked: LaunchRequest,
): Promise<SentValues> {
  const context = await deps.forms.contextOf(form)
  const { subforms } = context
  const request = inOwnShape(form, subforms, asked)
  const files = await launchFiles(
    { queries: deps.store.read, folder: deps.uploads },
    { fields: form.fields, wizard: form.wizard, subforms },
    caller,
    { files: request.files, values: request.rawFormData, earlier: request.earlier?.uploads },
  )
  const mode = modeOf(deps.validation, form, request)
  const { rawFormData } = request
  const values =
    rawFormData === null || mode === 'off'
      ? rawFormData
      : withSentPasswords(form, subforms, rawFormData, request.extravars)
  return { form, context, request, mode, values, files }
}

/** Checks field values against their form, with the answers of the sources that the form asks. */
export function checkValues(
  { checks, clock }: Pick<LaunchReading, 'checks' | 'clock'>,
  caller: Caller,
  { form, context, request, values, files }: SentValues,
  { waitMs, isShowing, rowsToShow }: Checking,
): Promise<CheckResult> {
  return checks.check(
    {
      ...context,
      fields: form.fields,
      wizard: form.wizard,
      values: values ?? {},
      uploads: files.verified,
      user: userVariable(caller, null),
      now: clock.now(),
      ...(isShowing ? { isShowing, rowsToShow: rowsToShow ?? [] } : {}),
    },
    // A client could invent the answers that it got before, so the launch asks the sources again.
    { ...askerOf(caller), mayReuse: isShowing, waitMs, ...(request.signal ? { signal: request.signal } : {}) },
  )
}

function refusalOf(check: () => void): HoldfastError | null {
  try {
    check()
    return null
  } catch (error) {
    if (error instanceof HoldfastError) return error
    throw error
  }
}

/** The key of a person. People take turns, and all requests of one person share theirs. */
export function callerKeyOf({ type, username }: Pick<Caller, 'type' | 'username'>): string {
  return `${type}/${username}`
}

/** For whom the sources of a form are asked. */
export function askerOf(caller: Caller): Pick<Asker, 'mayUse' | 'caller'> {
  return { mayUse: mayUseCredential(caller), caller: callerKeyOf(caller) }
}
