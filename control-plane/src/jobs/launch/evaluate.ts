import type { Caller } from '../../auth/sessions/caller.js'
import { TooManyError } from '../../errors.js'
import type { ShownField, ShownForm } from '../../forms/check/shown-form.js'
import type { ValidationError } from '../../forms/check/report.js'
import { withSentPasswords } from '../../forms/sent/passwords.js'
import { withoutDrafts } from '../../forms/sent/wizard-drafts.js'
import { askerOf, callerKeyOf } from '../needs/asker.js'
import { chooseRunner } from '../needs/runner-choice.js'
import { requireShallow } from '../record/depth.js'
import { maskValues } from '../secrets/masking.js'
import { createSecretFinder } from '../../secrets/secret-finder.js'
import { type LaunchSecrets, maskSecrets } from '../secrets/secret-values.js'
import { userVariable } from './extravars.js'
import { launchFiles } from './launch-files.js'
import { secretsOfLaunch } from './launch-passwords.js'
import { type LaunchDependencies, requireMayLaunch } from './launch.js'

/**
 * Most evaluations of one user at the same time. A page sends the next one when it has the answer to the one before.
 */
const MAX_OF_USER = 4

/** What is filled in so far. */
export interface EvaluateRequest {
  readonly formName: string
  readonly rawFormData: Readonly<Record<string, unknown>>
  /** By the key of the file field, the answer to the upload as the client repeats it. */
  readonly files: Readonly<Record<string, unknown>>
  /** Rows of lists to show, too: each by the names and indexes that lead to it. */
  readonly rowsToShow: readonly (readonly (string | number)[])[]
  /** How long to wait for sources, in milliseconds. The questions to slower sources go on after that. */
  readonly waitMs: number
  /** Aborted when the caller has closed the request. */
  readonly signal: AbortSignal
}

/** Finds what a launch with these values would answer, without launching. */
export interface FormEvaluation {
  /**
   * The answer never contains passwords.
   * @throws NotFoundError, ForbiddenError, RefusedValuesError, InvalidInputError, TooManyError, UnavailableError
   */
  evaluate(caller: Caller, request: EvaluateRequest): ReturnType<typeof evaluated>
}

/** Makes the part that evaluates forms. It counts the evaluations of each user. */
export function createFormEvaluation(deps: LaunchDependencies): FormEvaluation {
  const running = new Map<string, number>()
  return {
    async evaluate(caller, request) {
      const user = callerKeyOf(caller)
      const count = running.get(user) ?? 0
      if (count >= MAX_OF_USER) {
        throw new TooManyError('too_many_evaluations', `A user may evaluate ${MAX_OF_USER} forms at a time`, 1)
      }
      running.set(user, count + 1)
      try {
        return await evaluated(deps, caller, request)
      } finally {
        const left = (running.get(user) ?? 1) - 1
        if (left > 0) running.set(user, left)
        else running.delete(user)
      }
    },
  }
}

async function evaluated(deps: LaunchDependencies, caller: Caller, request: EvaluateRequest) {
  const { store, forms, uploads: folder } = deps
  requireShallow([request.rawFormData, request.files])
  const { formName } = request
  const { form, planned } = await requireMayLaunch(deps, caller, { formName, extravars: {} })
  const { subforms, constants, functions } = await forms.contextOf(form)
  const sent = withoutDrafts(form, request.rawFormData, 'without skipped')
  const whole = { fields: form.fields, wizard: form.wizard, subforms }
  const named = { files: request.files, values: sent }
  const { verified: uploads } = await launchFiles({ queries: store.read, folder }, whole, caller, named)
  const user = userVariable(caller, null)
  const values = withSentPasswords(form, subforms, sent, {})
  const check = { ...whole, constants, functions, values, uploads, user }
  const result = await deps.checks.check(
    { ...check, now: deps.clock.now(), isShowing: true, rowsToShow: request.rowsToShow },
    { ...askerOf(caller), mayReuse: true, waitMs: request.waitMs, signal: request.signal },
  )
  const { details, extravars, passwords: checked, shown = { fields: {}, steps: {}, rows: [] } } = result
  const hide = hiding(secretsOfLaunch({ form, subforms, rawFormData: sent, extravars, checked }))
  const errors = new Map(Object.entries(details.validationErrors))
  const together = (
    fields: ShownForm['fields'],
    errorsOf: (name: string) => readonly ValidationError[] | undefined,
  ) => {
    const shownField = ([name, field]: [string, ShownField]) => [
      name,
      { ...hide(field), shown: field.shown, required: field.required, errors: errorsFor(errorsOf(name), hide) },
    ]
    return Object.fromEntries(Object.entries(fields).map(shownField)) as Record<string, object>
  }
  const steps = Object.entries(shown.steps).map(([name, step]) => [
    name,
    {
      ...step,
      errors: errorsFor(errors.get(name), hide),
      fields: together(step.fields, (field) => errors.get(`${name}.${field}`)),
    },
  ])
  const runners = planned ? planned.jobs.map(({ settings }) => settings) : [form]
  const choices = await Promise.all(runners.map((settings) => chooseRunner(store.read, settings)))
  return {
    fields: together(shown.fields, (name) => errors.get(name)),
    rows: hide(details.rowErrors) as Record<string, object[]>,
    steps: Object.fromEntries(steps) as Record<string, object>,
    shownRows: shown.rows.map(({ row, fields: inRow, errors: ofRow }) => ({
      row,
      fields: together(inRow, (name) => (Object.hasOwn(ofRow, name) ? ofRow[name] : undefined)),
    })),
    runs: {
      runner: choices[0]?.runner?.name ?? null,
      problem: choices.find(({ problem }) => problem !== null)?.problem ?? null,
      extravars: maskValues(hide(extravars), deps.maskPattern, new Set(form.passwordFields)) as Record<string, unknown>,
    },
  }
}

type Hide = <Value>(value: Value) => Value

/** Puts a mask in place of each text with a password. */
function hiding({ values, keys }: LaunchSecrets): Hide {
  const finder = createSecretFinder(values)
  return (value) => maskSecrets(value, finder, keys, false) as typeof value
}

function errorsFor(errors: readonly ValidationError[] | undefined, hide: Hide) {
  // The field itself says what it waits for.
  const own = (errors ?? []).filter(({ type }) => type !== 'waiting')
  return own.map(({ type, description }) => ({ type, description: hide(description) }))
}
