import type { Caller } from '../../auth/sessions/caller.js'
import type { Clock } from '../../time/clock.js'
import { RefusedValuesError, messageOf } from '../../errors.js'
import type { CheckResult } from '../../forms/check/context.js'
import { type CheckDetails, NOTHING_WRONG, isGood, findingsSummary } from '../../forms/check/report.js'
import {
  type Form,
  type FormContext,
  LAUNCH_VALIDATIONS,
  type LaunchValidation,
  type UnknownFields,
} from '../../forms/form.js'
import { type UnknownName, unknownNames } from '../../forms/check/unknown-names.js'
import { asksSources } from '../../forms/form-needs.js'
import { type AskingChecks, LAUNCH_WAIT_MS } from '../../forms/sandbox/asking-checks.js'
import { withSentPasswords } from '../../forms/sent/passwords.js'
import { withUploadsInVariables } from '../../forms/values/row-files.js'
import { isSame } from '../../forms/values/plain.js'
import type { Store } from '../../store/store.js'
import type { UploadFolder } from '../../uploads/upload-folder.js'
import type { UploadFacts, UploadProblem } from '../../uploads/verify.js'
import { askerOf } from '../needs/asker.js'
import { credentialFieldsOf } from '../needs/credential-needs.js'
import { ofClient, userVariable } from './extravars.js'
import { launchFiles } from './launch-files.js'
import { refuseMasks } from '../secrets/sent-masks.js'

/** What decides which values a launch runs with. */
export interface LaunchValuesDependencies {
  readonly store: Pick<Store, 'read'>
  readonly clock: Clock
  /** LAUNCH_VALIDATION; a form can only make it stricter. */
  readonly validation: LaunchValidation
  /** LAUNCH_UNKNOWN_FIELDS. */
  readonly unknownFields: UnknownFields
  readonly checks: AskingChecks
  /** MASK_EXTRAVARS_REGEX, compiled. */
  readonly maskPattern: RegExp
  readonly uploads: UploadFolder
  readonly log: { warn(fields: object, text: string): void }
}

/** The parts of a launch request that have values. */
export interface LaunchValuesRequest {
  readonly extravars: Readonly<Record<string, unknown>>
  /** Null: the launch has no field values. */
  readonly rawFormData: Readonly<Record<string, unknown>> | null
  /** Names of credentials, by the form's variables and credential fields. */
  readonly credentials: Readonly<Record<string, unknown>>
  /** By the key of the file field, the answer to the upload as the client repeats it. */
  readonly files: Readonly<Record<string, unknown>>
  /** What an earlier job passes to the job that repeats it. A client cannot set it. */
  readonly earlier?: EarlierJob
  /** Aborted when the client has closed the request. A launch whose values are not checked by then is dropped. */
  readonly signal?: AbortSignal
}

/** The part that only a relaunch has. */
export interface EarlierJob {
  /** Ids of the earlier job's uploads. They may be used again, whoever uploaded them. */
  readonly uploads: ReadonlySet<number>
  /**
   * Not null: the values are checked in every mode, because the variables have to be built from them. These variables
   * belong to no field. They are passed on as they are.
   */
  readonly besides: Readonly<Record<string, unknown>> | null
}

/** The values that a launch runs with. */
export interface LaunchValues {
  readonly values: Readonly<Record<string, unknown>>
  /** Names of credentials that are used in addition to those of the form. None of them has been checked yet. */
  readonly credentials: Readonly<Record<string, unknown>>
  /** The uploads of the launch. */
  readonly files: readonly UploadFacts[]
  /** The values of password fields, if the values were checked. */
  readonly passwords: readonly string[]
  /** Names of sent values that belong to no field, if the values were checked. */
  readonly unknown: readonly UnknownName[]
}

/**
 * Decides which values a launch runs with. Under `enforce` they are built from the checked field values. In the other
 * modes they are what the client sent. Names of credentials that the client sends count in every mode, if the form
 * declares them. Under `enforce`, the checked value of a field has priority.
 * @throws RefusedValuesError with the details of the check, TooManyError, UnavailableError
 */
export async function valuesOfLaunch(
  deps: LaunchValuesDependencies,
  form: Form,
  context: FormContext,
  caller: Caller,
  request: LaunchValuesRequest,
): Promise<LaunchValues> {
  const service = { queries: deps.store.read, folder: deps.uploads }
  const whole = { fields: form.fields, wizard: form.wizard, subforms: context.subforms }
  const {
    facts: files,
    problems,
    verified: uploads,
  } = await launchFiles(service, whole, caller, {
    files: request.files,
    values: request.rawFormData,
    earlier: request.earlier?.uploads,
  })
  const check = (values: Readonly<Record<string, unknown>>, signal?: AbortSignal) =>
    deps.checks.check(
      {
        ...context,
        ...whole,
        values,
        uploads,
        user: userVariable(caller, null),
        now: deps.clock.now(),
      },
      // A client could invent the answers that it got before, so the launch asks the sources again.
      { ...askerOf(caller), mayReuse: false, waitMs: LAUNCH_WAIT_MS, ...(signal ? { signal } : {}) },
    )

  const besides = request.earlier?.besides ?? null
  const mode = besides === null ? stricter(deps.validation, form.launchValidation) : 'enforce'
  const { rawFormData } = request
  // Under `enforce` the variables of the client are not used. Only passwords are read from them, because some clients
  // do not send passwords as field values.
  const values =
    rawFormData === null || mode === 'off'
      ? rawFormData
      : withSentPasswords(form, context.subforms, rawFormData, request.extravars)
  refuseMasks({ form, maskPattern: deps.maskPattern }, values, mode === 'enforce' ? null : request.extravars)
  if (mode === 'enforce') {
    if (values === null) {
      throw new RefusedValuesError(
        'raw_form_data_needed',
        'The launch needs rawFormData, the values of the fields of the form ({} for none)',
        { ...NOTHING_WRONG },
      )
    }
    const unknown = unknownNamesOf(form, context, request)
    refuseUnknown(deps, form, unknown)
    const result = await check(values, request.signal)
    refuseUnlessGood(result.details, problems)
    const { __verbose__ } = request.extravars
    const verbose = __verbose__ === undefined ? {} : { __verbose__ }
    return {
      values: { ...besides, ...result.extravars, ...verbose },
      credentials: { ...request.credentials, ...result.credentials },
      files,
      passwords: result.passwords,
      unknown,
    }
  }

  refuseUploads(problems)
  const variables = withUploadsInVariables(whole, ofClient(form, context.subforms, request.extravars), uploads)
  if (mode === 'log') {
    const declared = [...Object.keys(form.credentials), ...credentialFieldsOf(form, context.subforms)]
    const credentials = Object.fromEntries(
      Object.entries(request.credentials).filter(([key, name]) => declared.includes(key) && name !== ''),
    )
    const logged = logCheck(deps, form, values, { values: variables, credentials }, check)
    // This check only writes to the log. So a slow or missing source does not delay the launch, which runs in any case.
    const mayTakeLong = [form.fields, ...Object.values(context.subforms)].some(asksSources)
    if (!mayTakeLong) await logged
  }
  return { values: variables, credentials: request.credentials, files, passwords: [], unknown: [] }
}

/** A relaunch has checked the changed names already, and only these, because the form may have other fields now. */
function unknownNamesOf(form: Form, { subforms, constants }: FormContext, request: LaunchValuesRequest) {
  if (request.rawFormData === null || request.earlier) return []
  return unknownNames(form, subforms, request.rawFormData, [
    ...Object.keys(constants),
    ...Object.keys(request.credentials),
  ])
}

/** @throws RefusedValuesError that names the values without a field, and the field that was probably meant */
export function refuseUnknown(
  { unknownFields, log }: Pick<LaunchValuesDependencies, 'unknownFields' | 'log'>,
  form: Pick<Form, 'name'>,
  unknown: readonly UnknownName[],
): void {
  if (unknown.length === 0 || unknownFields === 'ignore') return
  const names = unknown.map(({ name }) => name)
  if (unknownFields === 'warn') {
    log.warn({ form: form.name, unknown: names }, 'a launch sends values that belong to no field')
    return
  }
  const errors = unknown.map(({ name, nearest }) => [
    name,
    [
      {
        type: 'unknown',
        description: `there is no field ${name}${nearest === null ? '' : `; did you mean ${nearest}?`}`,
      },
    ],
  ])
  throw new RefusedValuesError('values_refused', `The values of the form are refused (${sentenceOf(unknown)})`, {
    ...NOTHING_WRONG,
    invalid: names,
    validationErrors: Object.fromEntries(errors) as CheckDetails['validationErrors'],
  })
}

function sentenceOf(unknown: readonly UnknownName[]): string {
  const [first, ...others] = unknown
  const meant = first?.nearest ? `, did you mean ${first.nearest}?` : ''
  return `no field is called ${first?.name ?? ''}${meant}${others.length > 0 ? `, nor ${others.map(({ name }) => name).join(', ')}` : ''}`
}

/** The stricter of two modes. A mode that is not set does not count. */
export function stricter(setting: LaunchValidation, form: LaunchValidation | null): LaunchValidation {
  if (form === null) return setting
  return LAUNCH_VALIDATIONS.indexOf(form) > LAUNCH_VALIDATIONS.indexOf(setting) ? form : setting
}

/** @throws RefusedValuesError that names each field whose upload cannot be used, and the problem */
export function refuseUploads(problems: readonly UploadProblem[]): void {
  const errors = problems.map(({ field, reason, message }) => [field, [{ type: reason, description: message }]])
  const validationErrors = Object.fromEntries(errors) as CheckDetails['validationErrors']
  refuseUnlessGood({ ...NOTHING_WRONG, uploads: problems.map(({ field }) => field), validationErrors }, problems)
}

/** @param problems of uploads, for the sentence. A field that the details do not name is not shown. */
function refuseUnlessGood(details: CheckDetails, problems: readonly UploadProblem[]): void {
  if (isGood(details)) return
  const { missing, invalid, waiting, uploads } = details
  const ofUploads = problems.filter(({ field }) => uploads.includes(field))
  const parts = [
    ...Object.entries({ missing, invalid, waiting })
      .filter(([, names]) => names.length > 0)
      .map(([what, names]) => `${what}: ${[...new Set(names)].join(', ')}`),
    ...ofUploads.slice(0, 1).map(({ field, message }) => `the upload for '${field}' cannot be used: ${message}`),
  ]
  const isOnlyUploads = isGood({ ...details, uploads: [] })
  throw new RefusedValuesError(
    isOnlyUploads ? 'uploads_refused' : 'values_refused',
    `The values of the form are refused (${parts.join('; ')})`,
    { ...details },
  )
}

/** Logs what `enforce` would do. It logs names and never a value. A failure here does not stop the launch. */
async function logCheck(
  deps: LaunchValuesDependencies,
  form: Form,
  rawFormData: Readonly<Record<string, unknown>> | null,
  { values, credentials }: Pick<LaunchValues, 'values' | 'credentials'>,
  check: (values: Readonly<Record<string, unknown>>) => Promise<CheckResult>,
): Promise<void> {
  if (rawFormData === null) {
    deps.log.warn({ form: form.name }, 'launch validation would refuse this launch: it brings no rawFormData')
    return
  }
  try {
    const result = await check(rawFormData)
    const { details, extravars } = result
    if (!isGood(details)) {
      deps.log.warn(
        { form: form.name, refused: findingsSummary(details) },
        'launch validation would refuse this launch',
      )
      return
    }
    const differing = [
      ...differingKeys(extravars, values).filter((key) => key !== '__verbose__'),
      ...differingKeys(result.credentials, credentials).map((key) => `credentials.${key}`),
    ]
    if (differing.length > 0) {
      deps.log.warn({ form: form.name, differing }, 'launch validation would change values of this launch')
    }
  } catch (error) {
    deps.log.warn({ form: form.name, reason: messageOf(error) }, 'launch validation could not be done')
  }
}

function differingKeys(one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((key) => !isSame(one[key], other[key]))
}
