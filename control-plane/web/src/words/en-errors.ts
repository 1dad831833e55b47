/** What the control plane says beside a code. */
export type Details = Readonly<Record<string, unknown>>

/** The texts of a list among the details. */
function listed(details: Details, key: string): string[] {
  const list = details[key]
  return Array.isArray(list) ? list.map((one) => (typeof one === 'string' ? one : nameIn(one))) : []
}

/** The name of an entry: the field of an upload, or where in the entries something is. */
function nameIn(entry: unknown): string {
  const { field, path } = (entry ?? {}) as { readonly field?: unknown; readonly path?: unknown }
  return String(field ?? path ?? '').replace(/^\//, '')
}

const named = (text: string, names: readonly string[]) => {
  const all = [...new Set(names)].filter(Boolean).join(', ')
  return all === '' ? `${text}.` : `${text}: ${all}.`
}

const refusedValues = (details: Details) =>
  named('These entries are missing or not allowed', [
    ...listed(details, 'missing'),
    ...listed(details, 'invalid'),
    ...listed(details, 'waiting'),
  ])

/** What is another thing now than when the approval was asked for. */
function changedSubjects({ asked, now }: Details): string[] {
  const [before, after] = [(asked ?? {}) as Details, (now ?? {}) as Details]
  const names = { manifest_sha256: 'the playbook folder', form_sha256: 'the form' }
  return Object.entries(names).flatMap(([key, name]) => (before[key] !== after[key] ? [name] : []))
}

/** What is wrong with a cron expression, by its part. */
function cronWords({ part, value, numbers, write }: Details): string {
  const instead = typeof write === 'string' ? ` Write ${write}.` : ''
  if (typeof part !== 'string')
    return `A cron expression has five parts: minute, hour, day of the month, month, day of the week.${instead}`
  return `The ${part} cannot be ${String(value)}. It may be ${String(numbers)}, or *.${instead}`
}

const again = 'Try again in a moment.'
const database = `The database does not answer now. ${again}`
const signInSetup = 'This sign-in is not set up completely. Tell an admin.'
const oldPage = 'The page asked for something that the control plane does not know. Reload the page.'
const tooMuch = `You asked for too much at once. ${again}`

/** What people read for each code of the REST interface. The sentences of the interface itself are for programs. */
export const errorWords: Readonly<Record<string, string | ((details: Details) => string)>> = {
  // Who is signed in, and what they may do.
  wrong_credentials: 'The username or the password is wrong.',
  credentials_missing: 'Enter a username and a password.',
  token_missing: 'You are not signed in.',
  token_invalid: 'You are not signed in.',
  token_expired: 'Your session is over.',
  token_reused: 'Your session is over.',
  session_ended: 'Your session is over.',
  token_not_allowed: 'Your roles do not allow API tokens any more.',
  sign_in_refused: 'The sign-in was refused. Begin it again, or ask an admin.',
  sign_in_nameless: 'The provider did not tell your username. Tell an admin.',
  sign_in_not_begun: 'The sign-in took too long, or began in another browser. Begin it again.',
  sign_in_held_back: 'There were too many failed sign-ins. Wait a little.',
  sign_in_off: 'Nobody can sign in in this way here.',
  sign_in_needed: 'An API token cannot do this. Sign in with your password.',
  sign_in_credential: signInSetup,
  provider_gone: 'Accounts of this kind cannot sign in here any more.',
  provider_refused: signInSetup,
  provider_unreachable: `The sign-in provider cannot be reached. ${again}`,
  public_url_missing: signInSetup,
  groups_unreachable: `Your groups could not be read at the provider. ${again}`,
  directory_refused: signInSetup,
  directory_unreachable: `The directory cannot be reached. ${again}`,
  code_invalid: 'The code of this sign-in is used up. Begin the sign-in again.',
  not_our_page: 'This page may not ask for that. Reload it.',
  password_change_needed: 'Change your password first.',
  admin_only: 'Only an admin may do this.',
  scope_needed: 'This API token may not do this.',
  busy: `Many people sign in at this moment. ${again}`,

  // Accounts and their tokens.
  invalid_username:
    'A username has 1 to 100 letters, digits or . _ @ + - characters. It begins with a letter or a digit.',
  weak_password: 'Choose a longer password that is not the username. It needs 12 characters.',
  long_password: 'This password is too long.',
  same_password: 'The new password is the old one. Choose another one.',
  wrong_password: 'The current password is wrong.',
  invalid_group: 'The name of a group has 1 to 100 characters, and no slash.',
  user_exists: 'There is a user with this name already.',
  user_not_found: 'This user does not exist any more.',
  username_fixed: 'A username cannot be changed, because jobs belong to it.',
  own_account: 'You cannot block or delete your own account, or take the admin role from it.',
  not_local: 'This account belongs to a directory or a provider. Change it there.',
  api_tokens_not_allowed: 'Your roles do not allow API tokens.',
  scope_not_allowed: 'Your roles do not allow API tokens that may do this.',
  too_long: 'An API token cannot be good for so many days.',
  too_many_tokens: 'You have too many API tokens. Revoke some of them first.',
  no_such_token: 'This API token does not exist any more.',
  no_such_session: 'This session has ended already.',

  // Credentials.
  credential_exists: 'There is a credential with this name already.',
  credential_not_found: 'This credential does not exist any more.',
  credential_in_file: 'This credential stands in credentials.yaml. Change it there.',
  credential_changed: 'Somebody else changed this credential meanwhile. Look at it again.',
  credential_closed: 'The stored secret cannot be opened. Enter it again.',
  password_needed: 'Another kind needs another secret. Enter it.',
  password_masked: 'The stars stand for the stored secret. Enter the secret itself, or leave the field empty.',
  invalid_secret: 'The secret is not one of this kind, or is too long. Is it the whole key?',

  // Forms and launches.
  form_not_found: 'This form does not exist any more.',
  form_not_allowed: 'Your roles do not allow this form.',
  form_not_launchable: 'This form is a part of other forms. It cannot be launched.',
  form_type_unsupported: 'Forms of this type cannot be launched here.',
  form_credentials_invalid: 'The credentials in this form are not written as they must be. Tell its author.',
  values_refused: refusedValues,
  uploads_refused: (details) => named('These files cannot be used. Choose them again', listed(details, 'uploads')),
  raw_form_data_needed: 'The values of this job were not kept. Fill in the form anew.',
  no_field_values: 'The values of this job were not kept. Fill in the form anew.',
  field_not_found: oldPage,
  field_not_computed: 'A field cannot be computed yet. Fill in the fields that it needs.',
  text_not_of_form: oldPage,
  name_missing: oldPage,
  runner_not_allowed: 'Your roles do not allow jobs on this runner.',
  credential_not_allowed: 'Your roles do not allow a credential that this job needs.',
  credentials_refused: 'This form does not take all of these credentials.',
  too_many_credentials: 'The job names too many credentials.',
  too_many_passwords: 'The form has too many different passwords.',
  verbose_not_allowed: 'Your roles do not allow the verbose mode.',
  group_full: 'So many jobs of this kind run already. Launch it when one of them has ended.',
  too_many_launches: `Too many of your launches wait. ${again}`,
  too_many_evaluations: tooMuch,
  client_gone: `The launch was cut off. ${again}`,
  playbook_folder: 'The playbook folder cannot be read now. Tell an admin.',
  playbook_files:
    'A file that the job needs is not in the playbook folder, or cannot travel to a runner. Admins see on the page of the forms what was left out.',
  lock_held: 'Somebody else changes the forms at the moment.',

  // Files that go up.
  no_file_form: 'Your roles allow no form that takes files.',
  no_file: 'No file arrived. Choose it again.',
  several_parts: oldPage,
  wrong_part: oldPage,
  broken_multipart: 'The file did not arrive whole. Choose it again.',
  upload_stalled: 'The file came too slowly. Choose it again.',
  upload_too_large: 'The file is larger than an upload may be.',
  upload_quota: 'Your uploads take too much room. Delete jobs whose files you do not need.',
  upload_quota_of_all: 'The uploads of all users take too much room. Tell an admin.',
  upload_disk_full: 'There is no room for the file. Tell an admin.',
  upload_not_stored: `The file could not be stored. ${again}`,
  file_name_missing: 'The file has no name. Give it one, and choose it again.',
  file_name_too_long: 'The name of the file is too long. Shorten it, and choose the file again.',

  // Jobs.
  job_not_found: 'This job does not exist, or not any more.',
  not_your_job: 'It is the job of another user.',
  own_job: 'It is your own job. Somebody else has to approve it.',
  not_an_approver: 'None of your roles may decide about this job.',
  not_waiting: 'The job does not wait for an approval any more.',
  not_running: 'The job has ended already.',
  not_ended: 'The job has not ended yet.',
  not_abandoned: 'The job is not abandoned any more.',
  abort_pending: 'The job is being aborted already.',
  part_of_a_job: 'This is a child job. Do this at its parent job.',
  relaunch_not_allowed: 'Your roles do not allow you to run jobs again.',
  form_forbids_relaunch: 'The form of this job does not allow it to be run again.',
  changed_since_asked: (details) => named('Look at it again. This has changed', changedSubjects(details)),
  node_not_found: 'The job has no such step.',
  event_not_found: 'The job has no such event.',
  order_not_a_number: oldPage,
  no_run_to_compare: 'No earlier run of this form has succeeded that you may see.',
  output_without_marks: 'Nothing tells which part of this output belongs to which host or task.',
  range_not_satisfiable: 'The output is shorter than that. Reload the page.',
  too_many_searches: tooMuch,

  // Runners.
  no_such_runner: 'This runner does not exist any more.',
  no_such_join_token: 'This join token does not exist any more.',
  no_such_orphan: 'This run does not wait any more.',
  orphan_of_another: 'This run belongs to another runner. It can only be ended or forgotten.',
  runner_state: 'The state of this runner does not allow it. Look at the runner again.',
  runner_online: 'This runner is connected. Stop its agent first.',
  runner_busy: 'Jobs of this runner have not ended. Abort them, or wait.',
  runner_name_taken: 'Another runner has this name.',
  other_fingerprint: 'The runner has another fingerprint now. Compare it again.',
  no_clone: 'No other process uses the identity of this runner.',
  no_such_address: 'This address does not exist any more.',
  address_exists: 'This address is there already.',
  bad_address: 'Enter a host and a port, such as http://runner.example:8002.',
  too_many_addresses: 'There are too many addresses of runners.',
  service_key_changed: 'The key of the control plane was changed meanwhile. Look at it again.',
  service_key_closed: 'The key of the control plane cannot be opened. Look at its log.',

  // Schedules and notifications.
  schedule_cron: cronWords,
  schedule_never: 'This time never comes.',
  schedule_time: 'A schedule needs a rule for its times, or one time.',
  schedule_time_zone: 'Enter the name of a time zone, such as Europe/Berlin.',
  schedule_too_large: 'The values of this schedule are too large.',
  schedule_password: 'A schedule keeps no passwords. Use a stored credential.',
  schedule_changed: 'The schedule was changed or has started meanwhile. Look at it again.',
  schedule_of_another: 'Only the user who made this schedule may change it.',
  schedule_owner_gone: 'The account that made this schedule was removed.',
  schedule_owner_blocked: 'The account that made this schedule is blocked.',
  no_such_schedule: 'This schedule does not exist any more.',
  too_many_schedules: 'You have too many schedules.',
  no_such_target: 'This place for notifications does not exist any more.',
  no_such_notification: 'This notification does not exist any more.',
  delivery_runs: 'The notification is being sent at the moment.',
  too_many_targets: 'There are too many places for notifications.',
  name_taken: 'This name is taken.',
  target_url: 'This address cannot be used.',

  // The request, and the service as a whole.
  invalid_input: (details) => named('These entries are not as they must be', listed(details, 'fields')),
  invalid_q: 'This search is too long.',
  inexact_number: 'A number is too large to be kept digit by digit. Enter it as a text.',
  too_deep: 'The entries are nested too deep.',
  too_many_values: 'These are too many entries.',
  too_many_fields: 'These are too many entries.',
  body_too_large: 'The entries are too large together.',
  rate_limited: tooMuch,
  too_much_in_work: tooMuch,
  too_many_streams: 'Too many pages of this service are open. Close some of them.',
  bodies_full: `The control plane has too much to do. ${again}`,
  body_stalled: `The request did not arrive whole. ${again}`,
  stopping: `The control plane is being stopped or restarted. ${again}`,
  audit_record_changed: 'A record of the audit trail was changed while it was checked.',
  secret_is_a_setting: 'This secret is a setting of the control plane. Change it there.',
  database_unavailable: database,
  database_unreachable: database,
  database_answer_lost: 'The database went away while this was stored. Look whether it was done before you try again.',
  database_not_writable: `The database cannot be written now. ${again}`,
  schema_not_provisioned: database,
  schema_not_upgraded: database,
  internal: 'Something went wrong inside the control plane. Tell an admin the number of the request.',
  not_found: 'It does not exist, or not any more.',
  unknown_route: oldPage,
  method_not_allowed: oldPage,
  unsupported_media_type: oldPage,
  invalid_json: oldPage,
  invalid_path: oldPage,
  invalid_request: oldPage,
  expectation_failed: oldPage,
  host_missing: oldPage,
}

/**
 * What people read for a code.
 * @param code null: the answer has none
 * @param status of the answer. It counts when the code has no words, such as one of a later release
 */
export function wordsOfCode(code: string | null, details: Details, status: number): string {
  const text = errorWords[code ?? ''] ?? statusWords(status)
  return typeof text === 'function' ? text(details) : text
}

function statusWords(status: number): string {
  if (status >= 500) return `The control plane cannot do this now. ${again}`
  switch (status) {
    case 401:
      return 'Your session is over.'
    case 403:
      return 'Your roles do not allow this.'
    case 404:
      return 'It does not exist, or not any more.'
    case 409:
      return 'Its state does not allow this now. Look at it again.'
    case 413:
      return 'This is too large.'
    case 429:
      return tooMuch
    default:
      return 'The control plane does not accept these entries.'
  }
}
