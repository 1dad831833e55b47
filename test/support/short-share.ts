/**
 * What `scripts/test` leaves out and `scripts/test --all` runs, as patterns of files. These tests wait most of their time,
 * for real systems, real programs or real faults. For each kind of them the short run keeps those that find most.
 */
export const LEFT_OUT_OF_SHORT_RUN: readonly string[] = [
  'test/systemd/**',
  'test/containers/**',
  'test/model/**',
  'test/generators/**',
  allBut('test/scripts', 'scripts'),
  allBut('test/chaos', 'abort-before-start', 'agent-restarts', 'commits', 'hostile-control-plane', 'lost-tail'),
  'test/chaos/kit/**',
  'test/nodes/{first-start,hearing,inbound,lost-offer,notifications,runners-elsewhere,schedules}.test.ts',
  'test/store/database-copies.test.ts',
  'test/releases/database.test.ts',
  'test/docs/commands.test.ts',
  'test/cli/{ask-rows,ask-types,product}.test.ts',
  'test/runners/queue-limit.test.ts',
  'test/api/forms/ssh-sources.test.ts',
  'test/api/notifications/notification-mails.test.ts',
  'test/attacks/{full-groups,job-isolation,jobs-of-one-runner,launch-injection-property}.test.ts',
  'test/attacks/{pipelining,shared-queues,sign-in-floods}.test.ts',
  'test/ansible/{course-strategies,events-recap,events-torture,masking-escapes,what-ran}.test.ts',
  allBut('test/e2e', 'credential-requests', 'multistep', 'playbook-job'),
  allBut('test/agent', 'agent-connection', 'agent-run', 'agent-signals', 'settings'),
  allBut('test/browser', 'form-fields', 'job-actions', 'sign-in'),
  'test/browser/log/**',
]

/** The test files of a folder without some of them. */
function allBut(folder: string, ...kept: readonly string[]): string {
  return `${folder}/!(${kept.join('|')}).test.ts`
}
