import type { Caller } from '../../auth/sessions/caller.js'
import { ForbiddenError, RefusedValuesError } from '../../errors.js'
import type { AnsibleForm, Form, Forms, MultistepForm, WorkflowForm } from '../../forms/form.js'
import { mayUseForm } from '../../forms/visibility.js'
import type { Store } from '../../store/store.js'
import { type JobFacts, readRunners } from '../needs/job-facts.js'
import { requireRunnerAllowed } from '../needs/runner-choice.js'
import type { PlannedSequence, SequencePort } from '../record/sequence-port.js'
import { requireVerboseAllowed } from './extravars.js'
import type { LaunchRequest } from './launch-request.js'

/** Something that can be launched: a form that runs one playbook, or a form with the plan of its child jobs. */
export type Launchable =
  | { readonly form: AnsibleForm; readonly planned: null }
  | { readonly form: MultistepForm | WorkflowForm; readonly planned: PlannedSequence }

/**
 * Checks the parts of a launch that do not depend on its field values: the form, the verbose mode, the runners.
 * @throws NotFoundError, ForbiddenError, RefusedValuesError for a form that nobody can launch
 */
export async function requireMayLaunch(
  {
    store,
    forms,
    sequences,
  }: { readonly store: Pick<Store, 'read'>; readonly forms: Forms; readonly sequences: SequencePort },
  caller: Caller,
  request: Pick<LaunchRequest, 'formName' | 'extravars'>,
): Promise<Launchable & Pick<JobFacts, 'runnerOf'>> {
  const form = await forms.find(request.formName)
  requireForm(form, caller)
  const launchable = await launchableOf(form, sequences)
  requireVerboseAllowed(request.extravars, caller)
  const settings = launchable.planned?.jobs.map((job) => job.settings) ?? [launchable.form]
  const runnerOf = await readRunners(store.read, settings)
  for (const one of settings) requireRunnerAllowed(runnerOf(one), caller)
  return { ...launchable, runnerOf }
}

/**
 * Whether the caller may launch a form.
 * @throws ForbiddenError, RefusedValuesError for a form that is only a part of other forms
 */
export function requireForm(form: Form, caller: Caller): void {
  if (!mayUseForm(caller, form)) {
    throw new ForbiddenError('form_not_allowed', `Your roles do not allow the form '${form.name}'`)
  }
  if (form.type === 'subform') {
    throw new RefusedValuesError(
      'form_not_launchable',
      `The form '${form.name}' is a part of other forms and cannot be launched`,
    )
  }
}

async function launchableOf(form: Form, sequences: SequencePort): Promise<Launchable> {
  if (form.type === 'ansible') return { form, planned: null }
  if (form.type === 'multistep' || form.type === 'workflow') {
    const planned = await sequences.planOf(form)
    if (planned) return { form, planned }
  }
  throw new RefusedValuesError(
    'form_type_unsupported',
    `Forms of type '${form.type}' cannot be launched by this service yet`,
  )
}
