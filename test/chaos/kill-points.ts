import type { FaultRule, PROGRAMS } from './kit/preload/faults.js'

/**
 * Each point is one file operation of one program, in which that program is killed; then it is started again. The job
 * is exact and was started once, or it ends truthfully. All points are met by one product, in which another job runs
 * from the first of them to the last.
 */
export interface KillPoint {
  readonly name: string
  readonly victim: keyof typeof PROGRAMS
  readonly operation: FaultRule['operation']
  readonly path: string
  readonly action: 'kill-before' | 'kill-after'
  /** The rule is armed before the launch, or when everything that the job wrote before its gate is stored. */
  readonly from: 'launch' | 'gate'
  /** Who runs the job. `silent`: emitted, and after its gate there is only its end. */
  readonly by: 'ansible' | 'emitter' | 'silent'
  /** How it must end, when that is not `success` with every byte. */
  readonly fails?: { readonly reason: RegExp; readonly starts: number }
  /** True: while the program is dead the end is stored, and the runner does not know that. */
  readonly leavesUntold?: true
}

const NEVER_STARTED = { reason: /^the supervisor was ended by SIGKILL$/, starts: 0 }
const LOST = /^the supervisor of the playbook was ended$/

export const KILL_POINTS: readonly KillPoint[] = [
  at('before the claim is synced', 'agent', 'kill-before', 'sync', '*/claim.json', 'launch', 'emitter'),
  at('before the claim is in the spool', 'agent', 'kill-before', 'rename', '*/spool/jobs/*', 'launch', 'ansible'),
  at('after the claim, before it is told', 'agent', 'kill-after', 'rename', '*/spool/jobs/*', 'launch', 'emitter'),
  at('after the claim, before the plan', 'agent', 'kill-before', 'rename', '*/supervisor.json', 'launch', 'ansible'),
  at('before the supervisor starts', 'agent', 'kill-before', 'open-write', '*/supervisor.log', 'launch', 'emitter'),
  at('with the end acknowledged', 'agent', 'kill-before', 'rename', '*/spool/kept/*', 'gate', 'ansible'),
  at('before the removal', 'agent', 'kill-after', 'rename', '*/spool/kept/*', 'gate', 'emitter'),
  at('in the removal', 'agent', 'kill-before', 'unlink', '*/spool/kept/*', 'gate', 'emitter'),
  at('after a first removal', 'agent', 'kill-after', 'unlink', '*/spool/kept/*', 'gate', 'emitter'),
  {
    ...at(
      'before started.json is in place',
      'supervisor',
      'kill-before',
      'link',
      '*/started.json',
      'launch',
      'ansible',
    ),
    fails: NEVER_STARTED,
  },
  {
    ...at('before started.json says who', 'supervisor', 'kill-before', 'write', '*/started-*.tmp', 'launch', 'emitter'),
    fails: NEVER_STARTED,
  },
  {
    ...at(
      'after started.json, before ansible',
      'supervisor',
      'kill-after',
      'link',
      '*/started.json',
      'launch',
      'ansible',
    ),
    fails: { reason: LOST, starts: 0 },
  },
  // The keeper starts another supervisor, which goes on.
  at('in the middle of the output', 'supervisor', 'kill-before', 'write', '*/output.log', 'gate', 'ansible'),
  at('before end.json is in place', 'supervisor', 'kill-before', 'rename', '*/end.json', 'gate', 'ansible'),
  at('before exit.json is in place', 'supervisor', 'kill-before', 'rename', '*/exit.json', 'gate', 'ansible'),
  at('after end.json', 'supervisor', 'kill-after', 'rename', '*/end.json', 'gate', 'emitter'),
  at('before a piece is written', 'controlPlane', 'kill-before', 'write', '*-wal', 'gate', 'ansible'),
  at('before the commit of a piece', 'controlPlane', 'kill-before', 'sync', '*-wal', 'gate', 'emitter'),
  at('before the acknowledgement', 'controlPlane', 'kill-after', 'sync', '*-wal', 'gate', 'ansible'),
  at('before the end is written', 'controlPlane', 'kill-before', 'write', '*-wal', 'gate', 'silent'),
  {
    ...at('between the end and end_stored', 'controlPlane', 'kill-after', 'sync', '*-wal', 'gate', 'silent'),
    leavesUntold: true,
  },
]

function at(
  name: string,
  victim: KillPoint['victim'],
  action: KillPoint['action'],
  operation: KillPoint['operation'],
  path: string,
  from: KillPoint['from'],
  by: KillPoint['by'],
): KillPoint {
  return { name, victim, action, operation, path, from, by }
}
