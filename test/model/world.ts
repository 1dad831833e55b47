import type { EndRecord } from '@holdfast/protocol'
import type { AbortMemory, JobMemory, Step } from '../../runner-agent/src/jobs/decide.js'
import type { JobFacts } from '../../runner-agent/src/jobs/facts.js'
import type { Dispatch } from '../../control-plane/src/words/job-dispatch.js'
import type { JobStatus } from '../../control-plane/src/words/job-status.js'

/**
 * One job between all who have to do with it. What is left out: bytes of output and events, files, secrets, isolation,
 * other jobs, torn marks, disks that stay full, and every length of time but the order of things and "long ago".
 */
export interface World {
  /** How many faults, and wishes of people, may still come. */
  readonly budget: number
  readonly service: 'up' | 'down'
  /** What the database has of the job; null: somebody deleted it. */
  readonly row: Row | null
  readonly runner: 'approved' | 'revoked' | 'removed'
  /** The agent is connected and has told what is in its spool. */
  readonly isLinked: boolean
  /** Null: it does not run. */
  readonly agent: Agent | null
  readonly host: Host
  readonly truth: Truth
}

export interface Row {
  readonly status: JobStatus
  readonly dispatch: Dispatch
  readonly abortAsked: boolean
  readonly wasAbandoned: boolean
  /** By a runner of the same key that was removed since: where jobs were known by its row, it is nobody's. */
  readonly isOfRemoved: boolean
}

/** What an agent knows that a new one would not. */
export interface Agent {
  /** Null: it has no such job. */
  readonly job: AgentJob | null
  /** A claimed job is offered to it, and it has not taken it yet. */
  readonly isOffered: boolean
}

export interface AgentJob {
  readonly before: JobFacts | null
  readonly knowsStart: boolean
  readonly child: 'none' | 'running' | 'ended'
  readonly abort: AbortMemory | null
  readonly unstarted: JobMemory['unstarted']
  /** What it has decided and not done yet. */
  readonly pending: Step | null
  readonly end: EndRecord | null
  readonly isRemoved: boolean
  /** The control plane does not know it: it is removed when it is over. */
  readonly isForgotten: boolean
}

/** The runner's host, which outlives its programs. */
export interface Host {
  readonly boot: 'first' | 'second'
  /** `away`: the disk of the spool is not mounted. */
  readonly folder: 'none' | 'there' | 'away' | 'removed'
  readonly marks: Marks
  /** Supervisors that have not tried to take the start yet. */
  readonly coming: readonly ('own' | 'other')[]
  readonly supervisor: 'none' | 'at work' | 'stuck' | 'gone'
  /** The agent that runs now has started it. */
  readonly isOwn: boolean
  readonly playbook: 'none' | 'running' | 'ended' | 'killed'
}

/** The marks in the folder that decide. */
export interface Marks {
  readonly started: 'nobody' | 'supervisor' | 'agent'
  readonly startedIn: 'first' | 'second'
  readonly hasAbort: boolean
  readonly isForced: boolean
  readonly exit: 'none' | 'by itself' | 'stopped'
  readonly end: EndRecord | null
}

/** What really happened, by which the rules judge; nobody in the world can look at it. */
export interface Truth {
  readonly starts: number
  readonly ends: number
  /** A person asked for its end: by an abort, or by deleting it. */
  readonly wasAsked: boolean
  /** The host was restarted, the supervisor killed before it knew the end, or the folder removed by hand. */
  readonly isHarmed: boolean
  /** The agent ended the supervisor, because the person who had asked could not wait for it. */
  readonly wasForced: boolean
}

const NO_MARKS: Marks = {
  started: 'nobody',
  startedIn: 'first',
  hasAbort: false,
  isForced: false,
  exit: 'none',
  end: null,
}

const EMPTY_HOST: Host = {
  boot: 'first',
  folder: 'none',
  marks: NO_MARKS,
  coming: [],
  supervisor: 'none',
  isOwn: false,
  playbook: 'none',
}

export const NEW_JOB: AgentJob = {
  before: null,
  knowsStart: false,
  child: 'none',
  abort: null,
  unstarted: null,
  pending: null,
  end: null,
  isRemoved: false,
  isForgotten: false,
}

/** A job that was just launched; everybody is there. */
export function freshWorld(budget: number): World {
  return {
    budget,
    service: 'up',
    row: {
      status: 'running',
      dispatch: 'queued',
      abortAsked: false,
      wasAbandoned: false,
      isOfRemoved: false,
    },
    runner: 'approved',
    isLinked: true,
    agent: { job: null, isOffered: false },
    host: EMPTY_HOST,
    truth: {
      starts: 0,
      ends: 0,
      wasAsked: false,
      isHarmed: false,
      wasForced: false,
    },
  }
}

/** A move that is possible in a world, and where it leads. */
export interface Move {
  readonly name: string
  readonly world: World
  /** It happens by itself sooner or later, without a fault and without anybody's wish. */
  readonly isProgress: boolean
}

/** Faults of older releases, which a rule must find when they are put back. */
export type OldFault =
  | 'concludes from a failed read'
  | 'knows jobs by the row of their runner'
  | 'ends what is not in its place for a moment'
  | 'judges an absent spool'
  | 'keeps a wait as a clock'
  | 'forgets how it ended'

export const change = {
  host: (world: World, parts: Partial<Host>): World => ({
    ...world,
    host: { ...world.host, ...parts },
  }),
  marks: (world: World, parts: Partial<Marks>): World =>
    change.host(world, { marks: { ...world.host.marks, ...parts } }),
  row: (world: World, parts: Partial<Row>): World =>
    world.row === null ? world : { ...world, row: { ...world.row, ...parts } },
  truth: (world: World, parts: Partial<Truth>): World => ({
    ...world,
    truth: { ...world.truth, ...parts },
  }),
  job: (world: World, parts: Partial<AgentJob>): World =>
    world.agent?.job
      ? {
          ...world,
          agent: { ...world.agent, job: { ...world.agent.job, ...parts } },
        }
      : world,
}

/** The end is written, unless one is there: nobody replaces it. */
export function writeEnd(world: World, end: EndRecord): World {
  if (world.host.marks.end !== null) return world
  return change.truth(change.marks(world, { end }), {
    ends: world.truth.ends + 1,
  })
}

/** An end record with what decides; the rest says nothing here. */
export function endRecord(cause: EndRecord['cause'], parts: Partial<EndRecord> = {}): EndRecord {
  const exit_code = cause === 'exited' ? 0 : null
  return {
    run_id: '',
    cause,
    exit_code,
    signal: null,
    message: null,
    aborted: cause === 'aborted',
    started_at: null,
    ended_at: '',
    output: { length: 0, sha256: '', dropped_bytes: 0 },
    events: { length: 0, sha256: '', dropped: 0, errors: 0, plugin_seen: true },
    ...parts,
  }
}
