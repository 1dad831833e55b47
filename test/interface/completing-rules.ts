/** What the contract leaves open, and what this service does there. */
export const COMPLETING_RULES = {
  // Answers
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
  'delete.part': 'A child job is deleted only with its parent job: 409.',
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
  // Monitoring
  'monitoring.probes': '/live and /ready answer with and without a token.',
  'monitoring.version': '/version answers the own version and the api version, without a token.',
  'monitoring.stopping': 'ready: 503 stopping.',
  'monitoring.database': 'ready: 503 database unreachable.',
  'monitoring.not-provisioned': 'ready: 503 schema not provisioned.',
  'monitoring.not-upgraded': 'ready: 503 schema not upgraded.',
  'monitoring.metrics-token': '/metrics is for METRICS_TOKEN or an admin, else 401.',
  'monitoring.names': '/metrics has the documented names.',
  'monitoring.agent': 'The runner agent has probes of its own that say why it is not ready.',
  // Sign-in, users, roles
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
  'role.options': 'Options of several roles combine with AND; default fills what is unset, then the built-in defaults.',
  'role.next-request': 'An edit of config.yaml counts from the next request on.',
  'role.broken-edit': 'A broken edit is reported, and the last good roles stay in force.',
  'role.limits': 'The lists of runners and credentials of a role limit a launch: 403, before there is a job.',
  // Jobs in detail
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
  // Statuses over time
  'over-time.running-waits': 'A job that waits for a free slot shows running.',
  'over-time.once': 'A job is never run a second time by itself.',
  'over-time.abandoned-connected':
    'An abandoned job whose runner is connected and has it shows connected: true, and says so in detail; others do not.',
  'over-time.abandoned-abort':
    'A plain abort of an abandoned job is 409 and names abandoned=true; with that it is kept and carried out by the runner when it is there.',
  'over-time.restart': 'A restart of the control plane abandons nothing by itself.',
  // Live events in detail
  'live-detail.hello-data': 'hello carries the version.',
  'live-detail.first-and-last': 'The first change goes at once, the last one is never lost.',
  'live-detail.headers': 'The stream has Cache-Control: no-store and X-Accel-Buffering: no.',
  'live-detail.slow-reader': 'A slow reader holds up nobody.',
  'live-detail.session': 'A stream ends with its session and with the service.',
  'live-detail.appearance': '/settings/appearance is read by everyone and changed by admins.',
  'live-detail.lock': '/lock is held by one account at a time (409 for others) and free after 10 minutes of silence.',
  // Loading forms
  'form.files': 'Files .yml and .yaml below the folder, by relative path, hold one form or a list.',
  'form.first-wins': 'Of two equal names the first wins and the later one is reported.',
  'form.wrong': 'A wrong form is left out and reported with file, line and reason; the others load.',
  'form.read-again': 'Files are read again when they change.',
  'form.list': '/forms lists the forms that the caller may launch; admins see the errors too.',
  'form.needs':
    'Admins see what of the world around it each form needs, and in which fields; form check says the same.',
  'form.foreign-types': 'Types that need a foreign system load, and their launch is 422.',
  'form.unknown-properties': 'Properties that nobody here knows are kept and served.',
  'form.vars-files': 'varsFiles merge deep in order over the constants.',
  // Properties of a job
  'property.arguments':
    'playbookSubPath, inventory, tags, limit, check and the others become the arguments of ansible-playbook.',
  'property.fill':
    'A static property fills __<property>__ unless the values hold it; undeclared keys of a client are dropped.',
  'property.user': 'ansibleforms_user and __jobid__ reach the playbook; userExtravars trims the user.',
  'property.jinja': 'Templates in values stay text unless allowJinjaInExtravars.',
  // Fields and extra variables
  'field.visibility': 'dependencies and dependencyFn decide who is shown; hidden fields are neither checked nor sent.',
  'field.rules':
    'required, YAML, sizes, bounds, lengths, regex, validIf, validIfNot, notIn, in and sameAs are checked in this order.',
  'field.choices': 'A choice is among the options.',
  'field.checkbox': 'A required checkbox is true.',
  'field.placeholders': 'Bounds and messages take $(field).',
  'field.regex': 'No pattern of a form hangs the service.',
  'field.output': 'output: false leaves a field out.',
  'field.model': 'model puts a value under dot paths.',
  'field.value-column': 'A select gives its valueColumn or first column.',
  'field.expression': 'value and expression with runLocal are computed in a sandbox with bounds.',
  'field.waiting': 'An expression that needs a data source is taken from the client if editable, else waiting.',
  'field.list': 'Rows of a list go through their subform, 500 a launch.',
  'field.wizard': 'Each step of a wizard is checked; when, optional and defaultModel count.',
  // Launch validation
  'validation.enforce':
    'enforce: the extra variables are built by the service, and of the client only __verbose__ counts.',
  'validation.needs-data': 'enforce: rawFormData is needed, {} for a form without fields.',
  'validation.details':
    '422 has details: missing, invalid, waiting, validationErrors, rowErrors, uploads; nothing is created.',
  'validation.log': 'log: checked, differences are logged without values, the extravars of the client run.',
  'validation.off': 'off: the extravars of the client run.',
  'validation.stricter': 'A form can only make it stricter.',
  'validation.upload-claim': 'The description of a file is only a claim: size, name and path come from the service.',
  'validation.upload-travels': 'The file travels to the runner, and the path of its variable is its path there.',
  // Credentials
  'credential.routes': 'Admins make, read, list, change and delete credentials.',
  'credential.hidden': 'Secrets are shown as ******** and never returned, and rest encrypted.',
  'credential.file': 'credentials.yaml is a second source and wins.',
  'credential.choice': 'a,b takes a, else b.',
  'credential.playbook': 'A credential reaches the playbook under its key and is found nowhere else.',
  'credential.missing': 'A credential that cannot be had fails the job before anything reaches a runner.',
  // Approval
  'approval.before': 'Nothing reaches a runner before the approval.',
  'approval.then': 'Approved: it runs. Rejected: it never does.',
  'approval.changed':
    'A form or playbook folder that changed since the approval was asked for: 409 changed_since_asked, unless force is said.',
  'approval.written': 'Who decided and when stands in the output and in the audit trail.',
  // The web client of the product family
  'family.start': 'What its pages ask before a sign-in is answered without a token, and says nothing about anybody.',
  'family.token': 'The access token says who is signed in: name, type, roles, and options of pages.',
  'family.forms':
    'GET /config/formlist, /config/form and /config (admin) give the forms with categories and constants, each to who may use them.',
  'family.passwords':
    'Where values are checked, a password that is no field value is read among the extra variables at the model of its field, and nothing else is.',
  'family.wizard':
    'A wizard may be sent as drafts of its steps, and comes back so; a model that begins with a slash is at the root.',
  'family.jobs': 'Its requests to follow, abort, approve, reject, launch again and delete a job are answered.',
  'family.lock': 'The lock of the designer also says free, match and lock.',
  'family.missing': 'What of it is not there is 404 in the shape of every error.',
  // Multistep jobs
  'multistep.parts': 'Steps run in order, each a job of its own with parent_id and the name of the step as target.',
  'multistep.key': 'key hands over only that object of the extra variables and the user.',
  'multistep.if-extra-var': 'ifExtraVar runs a step only when that extra variable is exactly true.',
  'multistep.stop': 'A step that failed or was aborted stops the rest.',
  'multistep.continue': 'With continue the rest runs all the same.',
  'multistep.always': 'A step with always runs whatever failed before it.',
  'multistep.end': 'No failure: success. Only failures with continue: warning. Else failed.',
  'multistep.abort': 'An abort of the parent job also ends the job of the running step.',
  'multistep.approval': 'The approval of a step pauses the parent job before that step.',
  'multistep.output': 'The output has a line for each step with the id of its job, and a recap.',
  // Workflow jobs
  'workflow.files': 'Files in AWX’s export syntax load; a wrong one is reported with file and node.',
  'workflow.reference': 'A form names a workflow by path, by a file name that is unique, or by its name.',
  'workflow.refused': 'Cycles, unknown links and double identifiers are refused when loading.',
  'workflow.project': 'A project or inventory_source node does nothing and says so, and the rest of the workflow runs.',
  'workflow.roots': 'Nodes without parents start at once, and branches run side by side.',
  'workflow.links': 'Links fire on success, on failure, or always; an aborted node fires none.',
  'workflow.convergence': 'A node starts with the first link that fires, or with all_parents_must_converge with all.',
  'workflow.do-not-run': 'What can no longer start is do not run, and so is what only it could start.',
  'workflow.condition': 'if_extra_var not met: the node is skipped, and what follows acts as after a success.',
  'workflow.approval': 'An approval node makes the job approve when no other branch runs.',
  'workflow.refusal':
    'A refusal fails the node: its failure and always links fire; without any the workflow is rejected.',
  'workflow.timeout': 'No answer in time fails the node, and the workflow if nothing takes care of that.',
  'workflow.precedence': 'extra_data, then artifacts of fired parents, then extra_vars, then the values of the form.',
  'workflow.artifacts': 'What a node publishes with set_stats reaches the nodes behind it.',
  'workflow.nested': 'A node may be another workflow, a job of its own.',
  'workflow.end': 'A failure that nothing takes care of fails the workflow.',
  'workflow.output': 'The output of each node stands under a banner, in the order in which they ended.',
  'workflow.abort': 'An abort ends all running nodes.',
  // Durable by design
  'durable.restart': 'A kill of the control plane at any point repeats no step, forgets none and loses no approval.',
  'durable.pure': 'What is next is decided by pure functions of what is stored.',
  'durable.files': 'Files that are edited later change nothing of a job under way.',
} as const
