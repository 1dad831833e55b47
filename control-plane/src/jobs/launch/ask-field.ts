import type { Caller } from '../../auth/sessions/caller.js'
import { ForbiddenError, NotFoundError, RefusedValuesError } from '../../errors.js'
import type { Field } from '../../forms/fields/field.js'
import { findPlaceholders } from '../../forms/values/placeholders.js'
import { askerOf, type LaunchReading } from './launch-facts.js'
import { requireShallow } from '../record/depth.js'
import { userVariable } from './extravars.js'
import { requireForm } from './may-launch.js'

/** Asks for the value of one field, as pages of the product family do. */
export interface AskFieldRequest {
  readonly kind: 'server' | 'query'
  /** Null: the caller sent its own text. */
  readonly formName: string | null
  readonly subformName: string | null
  readonly fieldName: string
  /** The values of placeholders, by the text between their parentheses. */
  readonly values: Readonly<Record<string, unknown>>
  /** Aborted when the caller has closed the request. */
  readonly signal: AbortSignal
}

/** How long such a request waits for its source, in milliseconds. */
const WAIT_MS = 60_000

/**
 * Computes the expression or query of one field. The text is that of the form. The values of its placeholders come from
 * the caller. Only constants and the user come from the service.
 * @returns undefined when the field has no value
 * @throws ForbiddenError, NotFoundError, RefusedValuesError with the reason why there is no value
 */
export async function askField(
  deps: Pick<LaunchReading, 'forms' | 'checks' | 'clock'>,
  caller: Caller,
  request: AskFieldRequest,
): Promise<unknown> {
  const { formName, subformName, fieldName, kind } = request
  if (formName === null) {
    throw new ForbiddenError(
      'text_not_of_form',
      'Only the text of a field of a form is run: name the form and the field. The web client 6.1.5 of the family sends the ' +
        'text itself: use one of version 7',
    )
  }
  requireShallow([request.values])
  const form = await deps.forms.find(formName)
  requireForm(form, caller)
  const { subforms, constants, functions } = await deps.forms.contextOf(form)
  const fields = subformName === null ? form.fields : (subforms[subformName] ?? [])
  const field = fields.find((one) => one.name === fieldName && one.source.kind === kind)
  if (!field) {
    throw new NotFoundError('field_not_found', `The form has no field '${fieldName}' that is computed in this way`)
  }
  const bound = boundTo(field, request.values, constants)
  const result = await deps.checks.check(
    {
      fields: [bound.field],
      wizard: [],
      subforms: {},
      functions,
      uploads: {},
      values: {},
      constants,
      sentValues: bound.values,
      user: userVariable(caller, null),
      now: deps.clock.now(),
      isShowing: true,
    },
    { ...askerOf(caller), mayReuse: true, waitMs: WAIT_MS, signal: request.signal },
  )
  const shown = result.shown?.fields[bound.field.name]
  const waiting = shown?.waiting ?? (shown ? undefined : 'the check of the values was given up')
  if (waiting !== undefined) throw new RefusedValuesError('field_not_computed', `${field.label}: ${waiting}`)
  return shown?.value
}

/**
 * The field alone, with its placeholders bound to what the caller sent. Each gets its own name, so that no value can
 * replace a constant.
 */
function boundTo(field: Field, sent: Readonly<Record<string, unknown>>, constants: Readonly<Record<string, unknown>>) {
  const values: Record<string, unknown> = {}
  const bind = (text: string): string => {
    let bound = ''
    let end = 0
    for (const { start, end: after, inside } of findPlaceholders(text)) {
      bound += text.slice(end, start)
      end = after
      const root = /^[^.[]+/.exec(inside)?.[0] ?? ''
      if (root === '__user__' || Object.hasOwn(constants, root)) bound += text.slice(start, after)
      else {
        const name = `__sent_${Object.keys(values).length}__`
        const value = Object.hasOwn(sent, inside) ? sent[inside] : undefined
        values[name] = value === '__null__' ? null : value
        bound += `$(${name})`
      }
    }
    return bound + text.slice(end)
  }
  const bindAll = (value: unknown): unknown => {
    if (typeof value === 'string') return bind(value)
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([key, entry]) => [key, bindAll(entry)] as const)
    return Array.isArray(value) ? entries.map(([, entry]) => entry) : Object.fromEntries(entries)
  }
  const { source } = field
  const boundSource =
    source.kind === 'query'
      ? { ...source, query: bind(source.query), config: bindAll(source.config) }
      : source.kind === 'server'
        ? { ...source, expression: bind(source.expression) }
        : source
  const alone: Field = {
    ...field,
    type: 'expression',
    source: boundSource,
    ignoreIncomplete: true,
    editable: false,
    dependencies: null,
    rules: { ...field.rules, required: false, regex: null },
  }
  return { field: alone, values }
}
