import { vaultNeedsOf } from '../../credentials/job/vault-needs.js'
import { FieldProblem } from '../fields/parse-field.js'
import type { Step } from '../form.js'
import type { FormFile, StepFile } from './form-schema.js'
import { LimitProblem } from './limits.js'
import { parseNotifications } from './notifications.js'
import { type PlaybookFile, readApproval, playbookSettingsOf } from './playbook.js'

/**
 * Reads the steps of a form. The form may have properties of playbooks for all its steps. They count for a step that
 * does not have them. Only the playbook itself must be in each step.
 * @param listed inventories that fields of the form offer
 */
export function stepParser(form: FormFile, listed: readonly string[]): (entry: StepFile) => Step {
  // The notifications of the form are for the parent job.
  const { approval: _, playbook: __, notifications: ___, ...forAll } = form
  return (entry) => {
    const type = entry.type ?? 'ansible'
    return {
      name: entry.name,
      type,
      settings: type === 'ansible' ? settingsOf({ ...forAll, ...entry }, form, listed) : null,
      key: entry.key || null,
      ifExtraVar: entry.ifExtraVar || null,
      continue: entry.continue ?? false,
      always: entry.always ?? false,
      approval: readApproval(entry.approval),
      notifications: toldOf(entry),
    }
  }
}

function toldOf({ notifications }: StepFile): Step['notifications'] {
  try {
    return parseNotifications(notifications)
  } catch (error) {
    throw error instanceof LimitProblem ? new FieldProblem('notifications', error.reason) : error
  }
}

function settingsOf(source: PlaybookFile, form: FormFile, listed: readonly string[]): Step['settings'] {
  return {
    ...playbookSettingsOf(source, 'in a step of type ansible'),
    listedInventories: listed,
    runner: source.runner || null,
    credentials: { ...form.credentials, ...source.credentials },
    ansibleCredentials: source.ansibleCredentials || null,
    vaultCredentials: vaultNeedsOf(source.vaultCredentials),
  }
}
