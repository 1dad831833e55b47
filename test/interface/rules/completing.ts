/** What the service interface leaves open and this service has settled: answers, monitoring, sign-in, jobs. */
export const COMPLETING = {
  Answers: {
    'answer.ok': 'Success is 200: a thing as itself, a list as count and records, an action as a message.',
    'answer.error-shape':
      'Every error of every route, those of the framework too, is {error, code, details?} without a stack.',
    'answer.400': '400: broken JSON, a wrong type, an id that is no whole number, an upload without a file.',
    'answer.401': '401 with WWW-Authenticate: Bearer when the token is missing, wrong or expired.',
    'answer.403': '403: the roles do not allow it.',
    'answer.404': '404: no such job, form, event, node or runner.',
    'answer.405': '405 with Allow for a wrong method of a known path; OPTIONS is answered with Allow.',
    'answer.forms':
      'Bodies may be JSON, or what curl -d sends of its own: JSON under the kind of a form, or fields of a form.',
    'answer.413': '413: too large.',
    'answer.415': '415: another kind of body.',
    'answer.422': '422: the values of the fields are refused.',
    'answer.429': '429: too many requests or sign-ins.',
    'answer.503': '503: not ready.',
    'field.locale':
      'Scripts of forms write dates and numbers and sort texts as Node.js does, in FORMS_LOCALE when they name no locale.',
    'state.first':
      '409 for an action that the state does not allow, also on the own job and without an approval, for whoever may see the job.',
    'delete.part': 'A part of an ended job is deleted with its whole only: 409.',
    'answer.order': 'Checks come in one order: 401, 404, 403, 409.',
    'answer.request-id':
      "Every answer has X-Request-Id, the caller's own where it is 1 to 64 of A-Za-z0-9._:-, and the log has it too.",
    'answer.times': 'Times are ISO 8601 in UTC with milliseconds.',
    'answer.docs':
      '/docs shows the OpenAPI 3.1 document, /docs/json answers it, made of the schemas that check requests.',
    'answer.text-exactly': 'Only text=true means plain text.',
    'answer.base-url': 'BASE_URL stands before every path.',
    'answer.launched-by-form':
      'Unknown form 404, a form of other roles 403, one that cannot be launched 422; nothing is created.',
  },
  Monitoring: {
    'monitoring.probes': '/live and /ready answer with and without a token.',
    'monitoring.version': '/version answers the own version and the api version, without a token.',
    'monitoring.stopping': 'ready: 503 stopping.',
    'monitoring.database': 'ready: 503 database unreachable.',
    'monitoring.not-provisioned': 'ready: 503 schema not provisioned.',
    'monitoring.not-upgraded': 'ready: 503 schema not upgraded.',
    'monitoring.metrics-token': '/metrics is for METRICS_TOKEN or an admin, else 401.',
    'monitoring.names': '/metrics has the documented names.',
    'monitoring.agent': 'The runner agent has probes of its own that say why it is not ready.',
  },
  'Sign-in, users, roles': {
    'sign-in.basic': 'Sign-in takes HTTP Basic.',
    'sign-in.json': 'Sign-in takes a JSON body.',
    'sign-in.long': 'Sign-in with expiryDays answers an API token to who may have one, and else the ordinary pair.',
    'sign-in.pair': 'Sign-in answers token and refreshtoken.',
    'sign-in.refresh': 'A refresh token gives a new pair, once; used twice it ends the session.',
    'sign-in.logout': 'Logout ends the session with both tokens.',
    'sign-in.expiry': 'An access token ends after its time, a session that is not carried on too.',
    'sign-in.profile': '/profile answers the user with groups, roles and options.',
    'sign-in.lock-account':
      'Five failed sign-ins of an address lock an account there for 15 minutes: 429 with Retry-After.',
    'sign-in.lock-address':
      'Thirty failed sign-ins of one address hold the address back, but for users who have signed in from there.',
    'sign-in.rate': 'AUTH_RATE_LIMIT bounds the requests of one address a minute.',
    'sign-in.asks':
      'A program that opened a browser is signed in when the person said yes on the page of /auth/confirm, once and within ten minutes.',
    'sign-in.age': 'A session ends SESSION_MAX_AGE after its sign-in, however often it is carried on.',
    'session.own': 'Users list their sessions and end them, and none of others.',
    'session.all': 'Admins list the sessions and API tokens of everybody, and end them.',
    'token.scopes': 'An API token may be for reading or launching only: what it was not made for is 403 scope_needed.',
    'token.role-scopes': 'The scopes of a role bound what API tokens are made for, and those that were made before.',
    'token.api': 'API tokens are made, listed and revoked by their owner, with the role option allowApiTokens.',
    'user.routes': 'Admins add, read, list, change and delete users.',
    'user.password-length': 'A password has at least 12 characters and is never returned.',
    'user.own-password': 'Users change their own password with the current one.',
    'user.sessions-end': 'Blocking, deleting or a new password ends the sessions of the user.',
    'role.membership':
      'A role has the users of its groups and the users that it names; everyone has default, formerly public.',
    'role.account':
      'A role that names a user means one account: a later one of that name gets it when an admin accepts the name.',
    'role.options':
      'Options of several roles combine with AND; default fills what is unset, then the built-in defaults.',
    'role.next-request': 'An edit of config.yaml counts from the next request on.',
    'role.broken-edit': 'A broken edit is reported, and the last good roles stay in force.',
    'role.limits': 'The lists of runners and credentials of a role limit a launch: 403, before there is a job.',
  },
  'Jobs in detail': {
    'detail.fields':
      'A job has id, form, target, job_type, status, status_reason, start, end, user, user_type, runner, parent_id, step, approval, abort_requested, abandoned_at, connected, credentials, subjobs.',
    'detail.end-null': 'end is null until the job has ended.',
    'detail.masked':
      'extravars are masked on read: texts under keys that look secret, and passwords wherever they stand.',
    'detail.unknown-user-type': 'An unknown user_type is 400.',
    'detail.filters': 'Filters never widen what the caller may see.',
    'detail.records':
      'records that is no number falls back, one below 1 is 1, one above the most is cut: never an error.',
    'detail.events-page': 'Events are paged with after and limit.',
    'detail.node-404': 'A job that is no workflow has no nodes: 404.',
    'detail.download': 'A download is text/plain, an attachment named holdfast-job-<id>.txt.',
    'detail.delete-takes-all': 'Deleting takes output and events along.',
    'detail.delete-who': 'Delete: the owner, an admin or manageAllJobs.',
    'detail.abort-who': 'Abort: the owner, an admin or manageAllJobs.',
    'detail.abort-twice': 'A second abort while one is pending is 409.',
    'detail.abort-answers':
      'An abort answers when it is stored; the job is aborted when the runner confirms, at once when no runner has it.',
    'detail.reject-own': 'Rejecting the own job is allowed to its owner.',
    'detail.relaunch-values': 'The body of a relaunch may hold values that lie over the stored ones.',
    'detail.rawformdata': 'rawformdata is a plain object without passwords; 404 when nothing was stored.',
    'detail.no-runner': 'Without a runner a job fails at once and its output says so.',
  },
  'Statuses over time': {
    'over-time.running-waits': 'A job that waits for a free slot shows running.',
    'over-time.once': 'A job is never run a second time by itself.',
    'over-time.abandoned-connected':
      'An abandoned job whose runner is connected and has it shows connected: true, and says so in detail; others do not.',
    'over-time.abandoned-abort':
      'A plain abort of an abandoned job is 409 and names abandoned=true; with that it is kept and carried out by the runner when it is there.',
    'over-time.restart': 'A restart of the control plane abandons nothing by itself.',
  },
  'Live events in detail': {
    'live-detail.hello-data': 'hello carries the version.',
    'live-detail.first-and-last': 'The first change goes at once, the last one is never lost.',
    'live-detail.headers': 'The stream has Cache-Control: no-store and X-Accel-Buffering: no.',
    'live-detail.slow-reader': 'A slow reader holds up nobody.',
    'live-detail.session': 'A stream ends with its session and with the service.',
    'live-detail.appearance': '/settings/appearance is read by everyone and changed by admins.',
    'live-detail.lock': '/lock is held by one account at a time (409 for others) and free after 10 minutes of silence.',
  },
} as const
