/** Jobs that consist of other jobs. */
export const SEQUENCES = {
  'Multistep jobs': {
    'multistep.parts': 'Steps run in order, each a job of its own with parent_id and the name of the step as target.',
    'multistep.key': 'key hands over only that object of the extra variables and the user.',
    'multistep.if-extra-var': 'ifExtraVar runs a step only when that extra variable is exactly true.',
    'multistep.stop': 'A step that failed or was aborted stops the rest.',
    'multistep.continue': 'With continue the rest runs all the same.',
    'multistep.always': 'A step with always runs whatever failed before it.',
    'multistep.end': 'No failure: success. Only failures with continue: warning. Else failed.',
    'multistep.abort': 'An abort of the whole ends the job of the running step with it.',
    'multistep.approval': 'The approval of a step pauses the whole before it.',
    'multistep.output': 'The output has a line for each step with the id of its job, and a recap.',
  },
  'Workflow jobs': {
    'workflow.files': 'Files in AWX’s export syntax load; a wrong one is reported with file and node.',
    'workflow.reference': 'A form names a workflow by path, by a file name that is unique, or by its name.',
    'workflow.refused': 'Cycles, unknown links and double identifiers are refused when loading.',
    'workflow.project':
      'A project or inventory_source node does nothing and says so, and the rest of the workflow runs.',
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
  },
  'Durable by design': {
    'durable.restart': 'A kill of the control plane at any point repeats no step, forgets none and loses no approval.',
    'durable.pure': 'What is next is decided by pure functions of what is stored.',
    'durable.files': 'Files that are edited later change nothing of a job under way.',
  },
} as const
