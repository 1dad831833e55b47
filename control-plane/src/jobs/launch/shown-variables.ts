import { HoldfastError } from '../../errors.js'
import { playbookVariables, userVariable } from './extravars.js'
import type { LaunchFacts } from './launch-facts.js'

/**
 * The variables that a playbook would get from values that are not complete, or that are refused. Nobody runs anything
 * with them: a page shows them to somebody who still fills in the form.
 */
export function shownVariables({ launchable, check, caller, mode, request }: LaunchFacts): Record<string, unknown> {
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
