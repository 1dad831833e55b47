/** Every route of the service interface and the rules that hold for it. */
export const ENDPOINTS = {
  Endpoints: {
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
      'GET /job takes before, status, form, q, parts, from, to and place, answers next, and answers 304 to If-None-Match with the ETag of an equal list.',
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
    'endpoint.matrix':
      'GET /job/{id}/matrix answers hosts, tasks and a letter for what came of each task at each host.',
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
  },
  'Rules per endpoint': {
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
  },
} as const
