/** The stream of live events. */
export const LIVE = {
  Events: {
    'live.open': 'The stream stays open.',
    'live.changed': 'changed carries a JSON object with one field, name.',
    'live.hello': 'hello comes on connecting and asks to wait 3 seconds before reconnecting.',
  },
  'Names of changed': {
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
  },
  'Rules of the stream': {
    'live-1.name-only': 'An event carries a name and never data.',
    'live-2.rate': 'At most one changed event a second for each name.',
    'live-3.ping': 'Every 15 seconds a comment line, : ping.',
    'live-4.nodes': 'Events of every node reach every stream.',
    'live-5.not-again': 'What was sent while a stream was down is not sent again.',
    'live-6.own-permissions': 'A client reads again with its own permissions: the stream opens nothing to it.',
  },
} as const
