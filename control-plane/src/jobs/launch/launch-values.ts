import { RefusedValuesError } from '../../errors.js'
import { type CheckDetails, NOTHING_WRONG, isGood } from '../../forms/check/report.js'
import {
  type Form,
  type FormContext,
  LAUNCH_VALIDATIONS,
  type LaunchValidation,
  type UnknownFields,
} from '../../forms/form.js'
import { type UnknownName, unknownNames } from '../../forms/check/unknown-names.js'
import type { CheckResult } from '../../forms/check/context.js'
import type { PlainObject } from '../../forms/values/plain.js'
import { withUploadsInVariables } from '../../forms/values/row-files.js'
import type { UploadFacts, UploadProblem } from '../../uploads/verify.js'
import { ofClient } from './extravars.js'
import type { LaunchFiles } from './launch-files.js'
import type { LaunchRequest } from './launch-request.js'
import { refuseMasks } from '../secrets/sent-masks.js'

/** What the settings of the service say about the values of launches. */
export interface ValueRules {
  /** LAUNCH_VALIDATION; a form can only make it stricter. */
  readonly validation: LaunchValidation
  /** LAUNCH_UNKNOWN_FIELDS. */
  readonly unknownFields: UnknownFields
  /** MASK_EXTRAVARS_REGEX, compiled. */
  readonly maskPattern: RegExp
}

/** What a launch says and what was found about it, before its values are checked. */
export interface SentValues {
  readonly form: Form
  readonly context: FormContext
  /** In the shape of this service. */
  readonly request: LaunchRequest
  /** How strictly the values of this launch are checked. */
  readonly mode: LaunchValidation
  /**
   * The field values, with passwords that only stand in the variables. Some clients do not send passwords as field
   * values. Null: the launch has no field values.
   */
  readonly values: PlainObject | null
  readonly files: LaunchFiles
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

/** How strictly the values of a launch are checked. A relaunch with changes is checked in every mode. */
export function modeOf(validation: LaunchValidation, form: Form, { earlier }: LaunchRequest): LaunchValidation {
  return earlier?.besides ? 'enforce' : stricter(validation, form.launchValidation)
}

/**
 * Refuses what need not be checked against the form, because it is wrong in any case.
 * @throws RefusedValuesError
 */
export function requireCheckable(rules: ValueRules, sent: SentValues): void {
  const { form, request, mode, values } = sent
  refuseMasks({ form, maskPattern: rules.maskPattern }, values, mode === 'enforce' ? null : request.extravars)
  if (mode !== 'enforce') return
  if (values === null) {
    throw new RefusedValuesError(
      'raw_form_data_needed',
      'The launch needs rawFormData, the values of the fields of the form ({} for none)',
      { ...NOTHING_WRONG },
    )
  }
  refuseUnknown(rules.unknownFields, unknownNamesOf(sent))
}

/**
 * The values that a launch runs with. Under `enforce` they are built from the checked field values. In the other modes
 * they are what the client sent. Names of credentials that the client sends count in every mode, if the form declares
 * them. Under `enforce`, the checked value of a field has priority.
 * @param check what the check of the field values found; null: they were not checked
 * @throws RefusedValuesError with the details of the check
 */
export function valuesOfLaunch(sent: SentValues, check: CheckResult | null): LaunchValues {
  const { form, context, request, mode, files } = sent
  if (mode === 'enforce') {
    if (check === null) throw new Error('the values of a launch were not checked before its plan')
    refuseUnlessGood(check.details, files.problems)
    const { __verbose__ } = request.extravars
    const verbose = __verbose__ === undefined ? {} : { __verbose__ }
    return {
      values: { ...request.earlier?.besides, ...check.extravars, ...verbose },
      credentials: { ...request.credentials, ...check.credentials },
      files: files.facts,
      passwords: check.passwords,
      unknown: unknownNamesOf(sent),
    }
  }
  refuseUploads(files.problems)
  const whole = { fields: form.fields, wizard: form.wizard, subforms: context.subforms }
  const values = withUploadsInVariables(whole, ofClient(form, context.subforms, request.extravars), files.verified)
  return { values, credentials: request.credentials, files: files.facts, passwords: [], unknown: [] }
}

/** A relaunch has checked the changed names already, and only these, because the form may have other fields now. */
function unknownNamesOf({ form, context: { subforms, constants }, request }: SentValues): readonly UnknownName[] {
  if (request.rawFormData === null || request.earlier) return []
  return unknownNames(form, subforms, request.rawFormData, [
    ...Object.keys(constants),
    ...Object.keys(request.credentials),
  ])
}

/**
 * Refuses values without a field where LAUNCH_UNKNOWN_FIELDS says so.
 * @throws RefusedValuesError that names these values, and the field that was probably meant
 */
export function refuseUnknown(unknownFields: UnknownFields, unknown: readonly UnknownName[]): void {
  if (unknown.length === 0 || unknownFields !== 'refuse') return
  const names = unknown.map(({ name }) => name)
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
