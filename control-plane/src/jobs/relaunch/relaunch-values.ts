import { namesInList } from '../../credentials/job/needs.js'
import { RefusedValuesError } from '../../errors.js'
import { NOTHING_WRONG } from '../../forms/check/report.js'
import type { LaunchValidation } from '../../forms/form.js'
import type { Field } from '../../forms/fields/field.js'
import { type PlainObject, isPlainObject } from '../../forms/values/plain.js'
import { credentialFieldsOf } from '../needs/credential-needs.js'
import { ofClient } from '../launch/extravars.js'
import { type EarlierLaunch, fieldRoots, passwordsToAskFor } from './relaunch-fields.js'
import type { LaunchRequest } from '../launch/launch-request.js'
import { holdsMask } from '../secrets/masking.js'

type RelaunchValues = Pick<LaunchRequest, 'extravars' | 'rawFormData' | 'credentials'> & {
  /** See `EarlierJob`. */
  readonly besides: PlainObject | null
}

/**
 * The values of a relaunch:
 * - Where launches are checked: the stored field values with `changes` over them, checked like any others.
 * - Where launches are not checked, and there are no changes: the extra variables as they were.
 * - With changes: the variables are built again from the field values, and the values are checked in every mode,
 *   because values that depend on a changed value have to change, too. Variables that belong to no field stay. If the
 *   job had only variables, the changes replace variables. Passwords are removed when a job ends. So they, and all
 *   values that contained one, have to be sent again. The verbose mode is not kept. A caller that wants it has to ask
 *   for it each time.
 * @param mode how strictly a launch of this form is checked now
 * @throws RefusedValuesError when something is needed that was not stored
 */
export function valuesOfRelaunch(
  earlier: EarlierLaunch,
  changes: PlainObject,
  { mode, verbose }: { readonly mode: LaunchValidation; readonly verbose: boolean },
): RelaunchValues {
  const { id, form, subforms, kept } = earlier
  const switches = verbose ? { __verbose__: true } : {}
  const hasChanges = Object.keys(changes).length > 0
  if (mode === 'enforce') {
    if (kept === null && !hasChanges) throw nothingKept(id)
    return {
      extravars: switches,
      rawFormData: fieldValues(earlier, changes),
      credentials: credentialsOfForm(earlier),
      besides: null,
    }
  }
  const credentials = credentialsThatDiffer(earlier)
  const sent = sentVariables(earlier)
  if (hasChanges && kept !== null) {
    const roots = fieldRoots(form, subforms)
    const notOfFields = (values: PlainObject) =>
      Object.fromEntries(Object.entries(values).filter(([key]) => !roots.has(key)))
    const changed = ofClient(form, subforms, notOfFields(changes))
    const besides = withoutVerbose({ ...notOfFields(sent), ...changed })
    requireKept(maskedNames(earlier, besides))
    return { extravars: switches, rawFormData: fieldValues(earlier, changes), credentials, besides }
  }
  const extravars = { ...sent, ...withoutVerbose(changes), ...switches }
  requireKept(passwordsThatAreGone(earlier, extravars))
  return { extravars, rawFormData: kept, credentials, besides: null }

  function withoutVerbose(values: PlainObject): PlainObject {
    const isField = fieldRoots(form, subforms).has('__verbose__')
    return isField ? values : Object.fromEntries(Object.entries(values).filter(([key]) => key !== '__verbose__'))
  }
}

/** The variables of the job that a client could have sent. */
function sentVariables({ form, subforms, extravars }: EarlierLaunch): Record<string, unknown> {
  const isVerboseField = fieldRoots(form, subforms).has('__verbose__')
  const counts = (key: string) => key !== 'ansibleforms_user' && (key !== '__verbose__' || isVerboseField)
  return Object.fromEntries(Object.entries(ofClient(form, subforms, extravars)).filter(([key]) => counts(key)))
}

/** The stored field values with the changes over them. The values of a wizard step are replaced field by field. */
function fieldValues(earlier: EarlierLaunch, changes: PlainObject): Record<string, unknown> {
  const kept = earlier.kept ?? {}
  const steps = new Set(earlier.form.wizard.map(({ name }) => name))
  const laid: Record<string, unknown> = { ...kept }
  for (const [name, change] of Object.entries(changes)) {
    const before = isPlainObject(kept[name]) ? kept[name] : {}
    laid[name] = steps.has(name) && isPlainObject(change) ? { ...before, ...change } : change
  }
  // Computed values are always computed again.
  const computed = new Set(earlier.form.fields.filter(isComputed).map(({ name }) => name))
  const values = Object.fromEntries(
    Object.entries(laid).filter(([name, value]) => !(computed.has(name) && holdsMask(value))),
  )
  requireKept([...passwordsToAskFor(earlier, values), ...maskedNames(earlier, values)])
  return values
}

function isComputed({ type, editable, source }: Field): boolean {
  return type === 'expression' && !editable && source.kind !== 'client'
}

/**
 * Used where nothing is checked. It names the values that the earlier job had and the new one would not have: fields
 * whose passwords are gone, and other variables that contained a password.
 */
function passwordsThatAreGone(earlier: EarlierLaunch, extravars: PlainObject): string[] {
  const masked = maskedNames(earlier, extravars)
  if (earlier.kept === null || masked.length === 0) return masked
  const roots = fieldRoots(earlier.form, earlier.subforms)
  const ofFields = passwordsToAskFor(earlier, earlier.kept)
  return [...ofFields, ...masked.filter((name) => ofFields.length === 0 || !roots.has(name))]
}

/** Names under which a mask stands in place of a value that is not kept. */
function maskedNames({ passwordFields }: EarlierLaunch, values: PlainObject): string[] {
  if (passwordFields.length === 0) return []
  return Object.entries(values).flatMap(([name, value]) => (holdsMask(value) ? [name] : []))
}

/** @throws RefusedValuesError that names what is missing, if something is missing */
function requireKept(missing: readonly string[]): void {
  if (missing.length > 0) throw notKept([...new Set(missing)])
}

/**
 * Names of credentials that the launch chose, not the form. The form chooses its own again, from those that exist now.
 */
function credentialsThatDiffer({ form, credentials }: EarlierLaunch): Record<string, string> {
  const isOfForm = (key: string, name: string) =>
    Object.hasOwn(form.credentials, key) && namesInList(form.credentials[key] ?? '').includes(name)
  return Object.fromEntries(Object.entries(credentials).filter(([key, name]) => !isOfForm(key, name)))
}

/** The same names without those that fields of the form choose. The values of these fields choose them again. */
function credentialsOfForm(earlier: EarlierLaunch): Record<string, string> {
  const ofFields = new Set(credentialFieldsOf(earlier.form, earlier.subforms))
  return Object.fromEntries(Object.entries(credentialsThatDiffer(earlier)).filter(([key]) => !ofFields.has(key)))
}

function nothingKept(id: number): RefusedValuesError {
  return new RefusedValuesError(
    'raw_form_data_needed',
    `Job ${id} was launched without field values, so there is nothing to check: send them all in values, or launch the form anew`,
    { ...NOTHING_WRONG },
  )
}

function notKept(missing: readonly string[]): RefusedValuesError {
  const description =
    'the job was launched with a password here, or with a value that holds one; passwords are not kept, so send it in values'
  return new RefusedValuesError(
    'values_refused',
    `The values of the form are refused (missing: ${missing.join(', ')}; passwords are not kept, so send them in values)`,
    {
      ...NOTHING_WRONG,
      missing,
      validationErrors: Object.fromEntries(missing.map((name) => [name, [{ type: 'required', description }]])),
    },
  )
}
