import { vaultNeedsOf } from '../credentials/vault-needs.js'
import { FieldProblem } from './fields/parse-field.js'
import type { Step } from './form.js'
import type { FormFile, StepFile } from './form-schema.js'
import { LimitProblem } from './parse-limits.js'
import { parseNotifications } from './parse-notifications.js'
import { type PlaybookFile, readApproval, playbookSettingsOf } from './parse-playbook.js'

/**
 * Reads the steps of a form. What a step does not say of how its playbook runs, the form may say for all of them; only
 * the playbook is each step's own.
 * @param listed inventories that fields of the form offer
 */
export function stepParser(form: FormFile, listed: readonly string[]): (entry: StepFile) => Step {
  // What the form tells, it tells of the whole job.
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
