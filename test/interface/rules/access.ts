/** Who may what, what is refused how, and the limits. */
export const ACCESS = {
  Authentication: {
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
  },
  Errors: {
    'error.order': '400: order is not a whole number.',
    'error.verbose': '403: a launch with __verbose__ true without allowVerboseMode.',
    'error.own-approval': '403: approving your own job, unless allowSelf or an admin.',
    'error.no-event': '404: the job has no event of that order.',
    'error.conflict-abort': '409: abort in a status that does not allow it.',
    'error.conflict-delete': '409: delete in a status that does not allow it.',
    'error.conflict-approve': '409: approve in a status that does not allow it.',
    'error.conflict-reject': '409: reject in a status that does not allow it.',
    'error.conflict-relaunch': '409: relaunch in a status that does not allow it.',
  },
  Limits: {
    'limit.job-time':
      'A job that a connected runner has had for longer than timeout of its form is aborted, as if a person had asked.',
    'limit.job-group':
      'No more jobs of a group have a place than concurrency of their forms says: others wait, or are refused with 409 group_full.',
    'limit.list-default': 'The list has JOBS_LIST_SIZE (1000) jobs when records is left out.',
    'limit.list-most': 'The list has 5000 jobs at most, or JOBS_LIST_SIZE if that is higher.',
    'limit.event-rate': 'One changed event a second and name.',
    'limit.ping': 'A comment every 15 seconds.',
    'limit.reconnect': 'hello asks to wait 3 seconds before reconnecting.',
  },
  Versioning: {
    'version.prefix': 'Every route lies under /api/v2.',
    'version.events': 'Job events and the event name runners are there (7.3.0).',
  },
} as const
