import type { Caller } from '../../auth/sessions/caller.js'
import { ConflictError, HoldfastError, TooManyError } from '../../errors.js'
import type { ShownField, ShownForm } from '../../forms/check/shown-form.js'
import type { ValidationError } from '../../forms/check/report.js'
import { callerKeyOf, type LaunchFacts, type LaunchReading, readLaunchFacts } from './launch-facts.js'
import { requirePlace } from '../limits/places.js'
import { maskValues } from '../secrets/masking.js'
import { createSecretFinder } from '../../secrets/secret-finder.js'
import { type LaunchSecrets, maskSecrets } from '../secrets/secret-values.js'
import { secretsOfLaunch } from './launch-passwords.js'
import type { LaunchRequest } from './launch-request.js'
import { type LaunchPlan, planLaunch } from './plan-launch.js'
import { playbookVariables, userVariable } from './extravars.js'

/**
 * Most evaluations of one user at the same time. A page sends the next one when it has the answer to the one before.
 */
const MAX_OF_USER = 4

/** What is filled in so far. */
export interface EvaluateRequest extends LaunchRequest {
  readonly rawFormData: Readonly<Record<string, unknown>>
  /** Rows of lists to show, too: each by the names and indexes that lead to it. */
  readonly rowsToShow: readonly (readonly (string | number)[])[]
  /** How long to wait for sources, in milliseconds. The questions to slower sources go on after that. */
  readonly waitMs: number
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
export function createFormEvaluation(deps: LaunchReading): FormEvaluation {
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

async function evaluated(deps: LaunchReading, caller: Caller, request: EvaluateRequest) {
  const { waitMs, rowsToShow, ...launch } = request
  const facts = await readLaunchFacts(deps, caller, launch, { waitMs, rowsToShow, isShowing: true })
  const { form, context, check } = facts
  if (check === null) throw new Error('a form was shown without a check')
  const { details, extravars, passwords: checked, shown = { fields: {}, steps: {}, rows: [] } } = check
  const { rawFormData } = facts.request
  const hide = hiding(secretsOfLaunch({ form, subforms: context.subforms, rawFormData, extravars, checked }))
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
  return {
    fields: together(shown.fields, (name) => errors.get(name)),
    rows: hide(details.rowErrors) as Record<string, object[]>,
    steps: Object.fromEntries(steps) as Record<string, object>,
    shownRows: shown.rows.map(({ row, fields: inRow, errors: ofRow }) => ({
      row,
      fields: together(inRow, (name) => (Object.hasOwn(ofRow, name) ? ofRow[name] : undefined)),
    })),
    runs: await runsOf(deps, facts, hide),
  }
}

/** What a launch with these values would do. */
async function runsOf(deps: LaunchReading, facts: LaunchFacts, hide: Hide) {
  const planned = await planLaunch(facts)
  const plan = 'plan' in planned ? planned.plan : null
  const refusal = 'plan' in planned ? await groupRefusal(deps, facts, planned.plan) : planned.refusal
  const { form, planned: sequence } = facts.launchable
  const first = sequence ? sequence.jobs[0]?.settings : form
  const variables = plan ? plan.job.variables : hide(shownVariables(facts))
  return {
    runner: (first && facts.runnerOf(first).runner?.name) ?? null,
    problem: refusal?.message ?? (plan && problemOf(plan)),
    refused: refusal?.code ?? null,
    extravars: maskValues(variables, deps.maskPattern, new Set(form.passwordFields)) as Record<string, unknown>,
  }
}

/** Why the job would fail at once, or why one of its child jobs would. */
function problemOf({ job: { problem, jobs = [] } }: LaunchPlan): string | null {
  return problem ?? jobs.find((job) => job.problem !== null)?.problem ?? null
}

/** Why a launch would be refused at this moment because its group is full; null: it would not. */
async function groupRefusal(
  { store }: LaunchReading,
  { form: { concurrency } }: LaunchFacts,
  { job: { problem } }: LaunchPlan,
): Promise<HoldfastError | null> {
  if (concurrency === null || problem !== null) return null
  try {
    await requirePlace(store.read, concurrency)
    return null
  } catch (error) {
    if (error instanceof ConflictError) return error
    throw error
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

/**
 * The variables that a playbook would get from values that are not complete, or that are refused. Nobody runs anything
 * with them: a page shows them to somebody who still fills in the form.
 */
function shownVariables({ launchable, check, caller, mode, request }: LaunchFacts): Record<string, unknown> {
  const { form, planned } = launchable
  const ofFields = mode === 'enforce' ? { ...request.earlier?.besides, ...check?.extravars } : request.extravars
  const values = { ...ofFields, ansibleforms_user: userVariable(caller, form.userExtravars) }
  if (planned) return values
  try {
    return playbookVariables(form, values, caller).extravars
  } catch (error) {
    if (error instanceof HoldfastError) return values
    throw error
  }
}
