/** What the contract says that scripts are written for: jobs and live events. */
export const CONTRACT_RULES = {
  // What the service does
  'service.job-is-a-run': 'A job is one run of a form, launched by its name and followed by the number of the job.',
  'service.playbook-job': 'A job may be a playbook job.',
  'service.multistep-job': 'A job may be a multistep job.',
  'service.workflow-job': 'A job may be a workflow job.',
  'service.on-a-runner': 'A job can run on a runner.',
  'service.inbound-runner':
    'A runner whose host may not dial out is dialled by the control plane; both sides prove their keys.',
  'service.approval-first': 'A job can need an approval before it runs.',
  'service.changes-by-name':
    'Clients learn the name of what changed from the stream and read it again over the normal routes.',
  'service.monitoring': 'Liveness, readiness and metrics are there for monitoring tools.',
  // Launch request
  'launch.formname': 'formName, a text, is needed and names the form.',
  'launch.extravars': 'extravars, an object, holds the extra variables.',
  'launch.numbers':
    'Numbers of a launch reach the playbook and its events digit by digit; one that cannot is 400 inexact_number and named.',
  'launch.payload': 'payload is another name for extravars.',
  'launch.rawformdata':
    'rawFormData, an object, holds the values of the fields; the launch checks them and builds the extra variables from them.',
  'launch.credentials':
    'credentials, an object, hands credentials to the job by their names, also where launches are checked: 403 for one that the roles do not allow, 422 for an unknown variable or credential.',
  'launch.files': 'files, an object, has one key for each file field with the upload description, unchanged.',
  'launch.unknown-fields':
    'rawFormData with a name that is no field is refused with the nearest name, unless LAUNCH_UNKNOWN_FIELDS says otherwise.',
  'launch.null': 'null for an optional object of the launch is as if it were not there.',
  'launch.verbose':
    '__verbose__ true among the extra variables runs the job in verbose mode; it is judged by its truth.',
  // Launch response
  'launch.id': 'The answer is the id of the new job, an integer.',
  // Upload description
  'upload.fieldname': 'fieldname is the name of the part, file.',
  'upload.originalname': 'originalname is the name of the uploaded file.',
  'upload.encoding': 'encoding is a text.',
  'upload.mimetype': 'mimetype is a text.',
  'upload.destination': 'destination is the folder on the server.',
  'upload.filename': 'filename is the stored name.',
  'upload.path': 'path is the folder and the stored name.',
  'upload.size': 'size is the number of bytes.',
  // Job
  'job.status': 'status is one of the eight statuses.',
  'job.extravars': 'extravars is the object of the extra variables.',
  'job.payload': 'payload is the same object.',
  'job.subjobs': 'subjobs are the subjobs of the job.',
  'job.output-html': 'output is HTML with colours unless something else is asked for.',
  'job.output-text': 'output is plain text with text=true.',
  // Job record
  'record.id': 'A record of the list has the id.',
  'record.form': 'A record has the form.',
  'record.status': 'A record has the status.',
  'record.start': 'A record has the start.',
  'record.end': 'A record has the end.',
  'record.user': 'A record has the user.',
  'record.runner': 'A record has the runner.',
  'record.summary-only': 'Extra variables and output are read from the job, not from its record.',
  // List response
  'list.count': 'count is the number of records in the answer.',
  'list.records': 'records are the jobs, newest first.',
  // Node
  'node.node': 'node describes the node.',
  'node.job': 'job is the id of the job of the node.',
  'node.job-null': 'job is null when the node did not run.',
  'node.extravars': 'extravars are those of the node.',
  'node.artifacts': 'artifacts are what the node published.',
  // Action message
  'action.abort': 'The answer of an abort has a message.',
  'action.approve': 'The answer of an approval has a message.',
  'action.reject': 'The answer of a rejection has a message.',
  'action.delete': 'The answer of a deletion has a message.',
  'action.relaunch': 'The answer of a relaunch has a message.',
  'action.relaunch-id': 'The answer of a relaunch, and of no other action, has the id of the new job.',
  // Statuses
  'status.running': 'running: the job runs.',
  'status.approve': 'approve: the job waits for an approval.',
  'status.success': 'success: finished without errors; final.',
  'status.failed': 'failed: the job failed; final.',
  'status.warning': 'warning: a multistep job finished although a step with continue failed; final.',
  'status.aborted': 'aborted: the job was aborted; final.',
  'status.rejected': 'rejected: the approval was refused and what waited for it did not run; final.',
  'status.abandoned':
    'abandoned: what followed the job stopped, and the job was given up; final, but for its real outcome.',
  // Moves
  'move.abort': 'A running job that is aborted becomes aborted, and the abort answers with a message.',
  'move.reject':
    'A job that waits for an approval and is rejected becomes rejected, does not run, and the rejection answers with a message.',
  'move.abandon': 'A running job whose follower is lost becomes abandoned.',
  'move.real-outcome': 'An abandoned job whose runner finishes it afterwards ends with its real outcome.',
  'move.conflict': 'An action on a job whose status does not allow it answers 409.',
  'move.final': 'A final status is left by nothing.',
  // Endpoints
  'endpoint.bearer':
    'Every route is called with the bearer token, which each of them takes; without it all answer 401 but the probes live and ready, which answer the same.',
  'endpoint.launch': 'POST /job launches a form.',
  'endpoint.upload':
    'POST /job/upload takes a multipart form with one part named file and answers the upload description.',
  'endpoint.job': 'GET /job/{id} answers the job, with the optional query text.',
  'endpoint.list': 'GET /job answers count and records.',
  'endpoint.approvals':
    'GET /job/approvals answers one number: how many jobs wait for an approval that the user may give.',
  'endpoint.rawformdata':
    'GET /job/{id}/rawformdata answers all values of fields with which the job was launched; only passwords are left out.',
  'endpoint.job-events':
    'GET /job/{id}/events answers all structured events of a playbook job; after, limit, host, task, type and status narrow them.',
  'endpoint.job-event': 'GET /job/{id}/events/{order} answers one event with its whole result.',
  'endpoint.node': 'GET /job/{id}/node/{nodeId} answers the node.',
  'endpoint.nodes':
    'GET /job/{id}/nodes answers the steps or nodes of a multistep or workflow job with how they stand and what follows them.',
  'endpoint.abort': 'POST /job/{id}/abort aborts a job.',
  'endpoint.relaunch': 'POST /job/{id}/relaunch runs the job again, with the optional query verbose.',
  'endpoint.approve': 'POST /job/{id}/approve approves.',
  'endpoint.reject': 'POST /job/{id}/reject rejects.',
  'endpoint.download': 'GET /job/{id}/download answers the output as a download.',
  'endpoint.delete': 'DELETE /job/{id} deletes a job.',
  'endpoint.events-all': 'GET /job/{id}/events answers all events of a job, however many; count is their number.',
  'endpoint.events-filters':
    'GET /job/{id}/events takes host, task, type, status, after and limit, which leave only the events that are asked for.',
  'endpoint.job-detail':
    'GET /job/{id}?output=false also answers can, place, estimate, history, stages, streams and integrity: what the caller may do, where the job is, what is left of it by earlier runs, how it came there, where it was and when its runner was away, how long its streams are, and whether they are whole.',
  'endpoint.job-list-pages':
    'GET /job takes before, status, form, q, parts, from, to and place, answers count and records alone with the next page in the header Link, and answers 304 to If-None-Match with the ETag of an equal list.',
  'endpoint.one-form':
    'GET /forms?fields=false answers the forms without fields; GET /forms/{name} answers one form with them.',
  'endpoint.browser-session':
    'POST /auth/session signs a browser in by a cookie, only for pages of the service; DELETE /auth/session signs it out.',
  'endpoint.browser-sign-in': 'GET /auth/{kind} with to signs a browser in by a cookie and sends it on to that page.',
  'endpoint.roles':
    'GET /role answers admins the roles of config.yaml and which accounts have them; the role of everyone names none.',
  'endpoint.service-settings':
    'GET /settings/service answers admins every setting in force, and whether it was given; a secret is always ********.',
  'endpoint.output-parts':
    'GET /job/{id}/output takes offset and limit, answers 206 to Range, and says how long the output is, whether it is open, and its generation.',
  'endpoint.output-follow':
    'GET /job/{id}/output?follow=true stays open and sends bytes as they are stored, until the job has ended or its output begins anew.',
  'endpoint.output-index': 'GET /job/{id}/output/index answers the number of line ends before each 64 KiB of output.',
  'endpoint.outline':
    'GET /job/{id}/outline answers the plays and tasks of a run with what came of them; after leaves only what later events changed.',
  'endpoint.failures':
    'GET /job/{id}/failures answers which tasks failed at which hosts and with which message, equal ones together, without those that were ignored or rescued.',
  'endpoint.matrix': 'GET /job/{id}/matrix answers hosts, tasks and a letter for what came of each task at each host.',
  'endpoint.compare':
    'GET /job/{id}/compare answers what differs between a job and the last good run of its form, or the job that with names: masked variables, results, durations, hosts and steps.',
  'endpoint.output-search':
    'GET /job/{id}/output/search answers where a literal text stands in the output, in steps of at most a second.',
  'endpoint.output-pieces':
    'GET /job/{id}/output/pieces answers what was printed for a host, for a task or play of the outline, or for a task at a host; events and outline say from, to and line of their output.',
  'endpoint.expression':
    'POST /expression and POST /query answer what one field of a form gives for sent values; the text is that of the form, and constants and the user are those of the service.',
  'endpoint.evaluate':
    'POST /forms/{name}/evaluate answers what a launch with these values would say by field, row and step, and what would run; passwords never come back, and nothing is launched.',
  'endpoint.events': 'GET /events is the stream of server-sent events.',
  'endpoint.live': 'GET /live is the liveness probe.',
  'endpoint.ready': 'GET /ready is the readiness probe.',
  'endpoint.metrics': 'GET /metrics answers the metrics; 403 to users who may not see them.',
  // Rules per endpoint
  'rule-1.formname': 'Launch: formName is required.',
  'rule-1.validation': 'Launch: what is checked is rawFormData, and the extra variables are built from it.',
  'rule-1.disk': "Launch: files are checked against the server's own disk.",
  'rule-2.verbose': 'Launch: __verbose__ true needs the role option allowVerboseMode, else 403.',
  'rule-3.upload-first': 'Upload: a form with a file field needs its file uploaded first.',
  'rule-3.unchanged': 'Upload: the description goes unchanged into files, under the name of the file field.',
  'rule-4.text': 'Get job: text=true answers the output as plain text.',
  'rule-5.newest-first': 'List: newest first.',
  'rule-5.records':
    'List: records is the most jobs of the answer; JOBS_LIST_SIZE without it; 5000 at most, or JOBS_LIST_SIZE if that is higher.',
  'rule-5.user': 'List: user shows only the jobs of this user.',
  'rule-5.user-type':
    'List: user_type is the kind of that user; local when it is left out; ldap, azuread and oidc are others.',
  'rule-5.runner':
    'List: runner shows only the jobs that ran on this runner: it had them, and not that they waited for it.',
  'rule-6.own': 'List: a user sees their own jobs.',
  'rule-6.approvals': 'List: a user sees the jobs that wait for an approval which one of their roles may give.',
  'rule-6.all': 'List: an admin, or a role with showAllJobLogs or manageAllJobs, sees every job.',
  'rule-7.own': 'rawformdata: for your own job; for every job as an admin or with manageAllJobs.',
  'rule-7.form': 'rawformdata: only for a form that allows relaunch.',
  'rule-7.option': 'rawformdata: only with the role option allowJobRelaunch.',
  'rule-8.cover': 'Job events: they cover each play, task, result of a host and the recap.',
  'rule-8.fields': 'Job events: each has order, type, play, task, host, duration and time.',
  'rule-9.result': 'One event: with its whole result.',
  'rule-9.order': 'One event: 400 when order is not a whole number, 404 when the job has no such event.',
  'rule-10.own': 'Approve: your own job answers 403, unless its approval sets allowSelf or you are an admin.',
  'rule-11.changes': 'Relaunch: as it ran, or with changes.',
  'rule-11.verbose': 'Relaunch: verbose=true runs the new job in verbose mode and needs allowVerboseMode.',
  'rule-11.permissions': 'Relaunch: needs the permissions of rawformdata.',
  'rule-12.abort': 'Abort: 409 in a status that does not allow it.',
  'rule-12.approve': 'Approve: 409 in a status that does not allow it.',
  'rule-12.reject': 'Reject: 409 in a status that does not allow it.',
  'rule-12.delete': 'Delete: 409 in a status that does not allow it.',
  'rule-12.relaunch': 'Relaunch: 409 in a status that does not allow it.',
  // Authentication
  'auth.header': 'Every route is called with Authorization: Bearer and the access token.',
  'auth.stream': 'Any signed-in user may open the event stream.',
  'auth.local': 'Users may be local.',
  'auth.ldap': 'Users may come from LDAP.',
  'auth.azuread': 'Users may come from Entra ID (azuread).',
  'auth.oidc': 'Users may come from an OpenID Connect provider (oidc).',
  'auth.verbose-launch': 'The role option allowVerboseMode opens the verbose launch.',
  'auth.verbose-relaunch': 'The role option allowVerboseMode opens the verbose relaunch.',
  'auth.allow-job-relaunch': 'The role option allowJobRelaunch opens rawformdata and relaunch.',
  'auth.show-all-job-logs': 'The role option showAllJobLogs shows every job.',
  'auth.manage-all-jobs': 'The role option manageAllJobs shows every job.',
  'auth.manage-all-jobs-rawformdata': 'The role option manageAllJobs opens the rawformdata of every job.',
  'auth.admin': 'An admin holds each of these permissions.',
  'auth.approver': 'A role may give approvals, and its users see the jobs that wait for one.',
  // Errors
  'error.order': '400: order is not a whole number.',
  'error.verbose': '403: a launch with __verbose__ true without allowVerboseMode.',
  'error.own-approval': '403: approving your own job, unless allowSelf or an admin.',
  'error.no-event': '404: the job has no event of that order.',
  'error.conflict-abort': '409: abort in a status that does not allow it.',
  'error.conflict-delete': '409: delete in a status that does not allow it.',
  'error.conflict-approve': '409: approve in a status that does not allow it.',
  'error.conflict-reject': '409: reject in a status that does not allow it.',
  'error.conflict-relaunch': '409: relaunch in a status that does not allow it.',
  // Limits
  'limit.job-time':
    'A job that a connected runner has had for longer than timeout of its form is aborted, as if a person had asked.',
  'limit.job-group':
    'No more jobs of a group have a place than concurrency of their forms says: others wait, or are refused with 409 group_full.',
  'limit.list-default': 'The list has JOBS_LIST_SIZE (1000) jobs when records is left out.',
  'limit.list-most': 'The list has 5000 jobs at most, or JOBS_LIST_SIZE if that is higher.',
  'limit.event-rate': 'One changed event a second and name.',
  'limit.ping': 'A comment every 15 seconds.',
  'limit.reconnect': 'hello asks to wait 3 seconds before reconnecting.',
  // Versioning
  'version.prefix': 'Every route lies under /api/v2.',
  'version.events': 'Job events and the event name runners are there (7.3.0).',
  // Events
  'live.open': 'The stream stays open.',
  'live.changed': 'changed carries a JSON object with one field, name.',
  'live.hello': 'hello comes on connecting and asks to wait 3 seconds before reconnecting.',
  // Names of changed
  'live.jobs-launched': 'jobs: a job was launched.',
  'live.jobs-status': 'jobs: the status of a job changed.',
  'live.jobs-output': 'jobs: a job has new output.',
  'live.jobs-deleted': 'jobs: a job was deleted.',
  'live.appearance':
    'appearance: the theme, the name, an announcement or an environment variable of the header changed.',
  'live.designer': 'designer: a lock of the designer was taken or released, by its holder or by time.',
  'live.runners-connection': 'runners: a runner connected or disconnected.',
  'live.runners-joining': 'runners: a runner asked to join, was approved or rejected.',
  'live.runners-settings': 'runners: a runner changed its mode or settings.',
  // Rules of the stream
  'live-1.name-only': 'An event carries a name and never data.',
  'live-2.rate': 'At most one changed event a second for each name.',
  'live-3.ping': 'Every 15 seconds a comment line, : ping.',
  'live-4.nodes': 'Events of every node reach every stream.',
  'live-5.not-again': 'What was sent while a stream was down is not sent again.',
  'live-6.own-permissions': 'A client reads again with its own permissions: the stream opens nothing to it.',
} as const
