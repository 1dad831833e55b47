import { many } from './count.js'

/** Texts of the graph of a workflow and of the steps of a multistep job. They are loaded with that page only. */
export const graphWords = {
  graph: (nodes: number) => `Graph of ${many(nodes, 'step', 'steps')}`,
  list: 'As a list',
  columns: {
    node: 'Step',
    runs: 'Runs',
    status: 'Status',
    then: 'What follows',
    start: 'Start',
    duration: 'Duration',
    job: 'Job',
  },
  status: { waiting: 'Waiting', skipped: 'Skipped', 'do not run': 'Does not run' } as Readonly<Record<string, string>>,
  when: { success: 'after a success', failure: 'after a failure', always: 'after either' } as Readonly<
    Record<string, string>
  >,
  then: (nodes: string, when: string) => `${nodes} ${when}`,
  node: (identifier: string) => `Step ${identifier}`,
  type: 'Type',
  typeOf: {
    step: 'Step',
    job_template: 'Playbook',
    workflow_job_template: 'Workflow',
    workflow_approval_template: 'Approval',
  } as Readonly<Record<string, string>>,
  artifacts: 'Published values',
  allParents: 'waits for all links',
  nothing: 'Nothing of this job is planned.',
}
