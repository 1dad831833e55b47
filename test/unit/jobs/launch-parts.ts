import type { Caller } from '../../../control-plane/src/auth/sessions/caller.js'
import type { AnsibleForm } from '../../../control-plane/src/forms/form.js'

/** A user without any rights but the verbose mode. */
export const caller: Caller = {
  id: 7,
  username: 'ann',
  type: 'local',
  email: null,
  groups: ['local/ops'],
  roles: ['default'],
  options: {
    allowVerboseMode: true,
    allowJobRelaunch: false,
    showAllJobLogs: false,
    manageAllJobs: false,
    allowApiTokens: false,
  },
  isAdmin: false,
  tokenScopes: null,
  scopes: null,
  passwordMustChange: false,
  isLaterOfName: false,
  rolesWithheld: [],
  pageOptions: {},
  allowedRunners: null,
  allowedCredentials: null,
  sessionId: 's',
}

/** A form that runs one playbook and asks for nothing. */
export function form(changes: Partial<AnsibleForm> = {}): AnsibleForm {
  return {
    type: 'ansible',
    name: 'f',
    roles: ['default'],
    description: null,
    categories: [],
    runner: null,
    abortable: true,
    allowRelaunch: true,
    timeoutMs: null,
    concurrency: null,
    notifications: null,
    source: {},
    playbook: 'site.yml',
    playbookSubPath: null,
    inventory: [],
    tags: null,
    limit: null,
    check: false,
    diff: false,
    verbose: false,
    keepExtravars: false,
    playbookFiles: null,
    allowJinjaInExtravars: false,
    fields: [],
    wizard: [],
    launchValidation: null,
    userExtravars: null,
    varsFiles: [],
    approval: null,
    credentials: {},
    ansibleCredentials: null,
    vaultCredentials: null,
    passwordFields: [],
    ...changes,
  }
}
