import { ABORT_TIMEOUTS, type JobMemory, type Step, decide } from '../../runner-agent/src/jobs/decide.js'
import type { JobFacts } from '../../runner-agent/src/jobs/facts.js'
import { ABSENT, type Fact, present, unknown } from '../../runner-agent/src/host/fact.js'
import type { Claim, Started } from '../../runner-agent/src/spool/job-folder.js'
import { type AgentJob, type Move, type OldFault, type World, change, endRecord, writeEnd } from './world.js'

/** What can fail to be looked at in one look; null: nothing. */
const BLIND = [null, 'folder', 'started', 'end', 'claim', 'exit', 'abort', 'supervisor'] as const
type Blind = (typeof BLIND)[number]
const SEEING: readonly Blind[] = [null]

const NOT_LOOKED = unknown('it was not looked at')
const FAILED = unknown('EIO')
const INODE = '1'

/** The agent looks at its job, by the product's own decision, and does what it has decided; between the two others move. */
export function agentMoves(world: World, old: ReadonlySet<OldFault>): Move[] {
  const job = world.agent?.job
  if (!job || job.isRemoved || job.end !== null) return []
  if (job.pending !== null) {
    const step = job.pending
    const done = carryOut(world, job, step)
    const undone = change.job(world, { pending: null })
    return [
      { name: `agent: ${step.do}`, world: done, isProgress: true },
      {
        name: `agent: ${step.do} fails`,
        world: { ...undone, budget: world.budget - 1 },
        isProgress: false,
      },
    ]
  }
  const looks = (world.budget > 0 ? BLIND : SEEING).map((blind): Move => {
    const looked = look(world, job, blind, old)
    return blind === null
      ? { name: 'agent: looks', world: looked, isProgress: true }
      : {
          name: `agent: looks, ${blind} cannot be read`,
          world: { ...looked, budget: world.budget - 1 },
          isProgress: false,
        }
  })
  return job.abort === null
    ? looks
    : [...looks, { name: 'a minute passes', world: later(world, job), isProgress: true }]
}

function look(world: World, job: AgentJob, blind: Blind, old: ReadonlySet<OldFault>): World {
  const facts = factsOf(world, job, blind, old)
  const abort = job.abort ?? (facts.abort.kind === 'present' ? NO_ABORT_YET : null)
  const memory: JobMemory = {
    bootId: world.host.boot,
    abortTimeouts: ABORT_TIMEOUTS,
    before: job.before,
    child: job.child === 'ended' ? { how: 'the supervisor ended' } : job.child,
    abort,
    unstarted: job.unstarted,
    unwritable: null,
  }
  const isOutOfPlace = facts.folder.kind !== 'present' && old.has('ends what is not in its place for a moment')
  const step: Step = isOutOfPlace ? { do: 'force abort', supervisor: true } : decide(facts, memory)
  const knowsStart = job.knowsStart || facts.started.kind === 'present'
  return change.job(world, {
    before: facts,
    knowsStart,
    abort,
    pending: step.do === 'wait' ? null : step,
  })
}

const NO_ABORT_YET = { askedMs: 0, toldMs: null, forced: null }

/** What one look finds. It is the world's own account of what the product's `readFacts` reads. */
function factsOf(world: World, job: AgentJob, blind: Blind, old: ReadonlySet<OldFault>): JobFacts {
  const { folder, marks } = world.host
  const isThere = folder === 'there'
  const fact = <Content>(name: NonNullable<Blind> | 'forced', isPresent: boolean, content: Content): Fact<Content> => {
    if (blind === name) return old.has('concludes from a failed read') ? ABSENT : FAILED
    return isThere && isPresent ? present(content) : ABSENT
  }
  const folderFact =
    folder === 'away' && !old.has('judges an absent spool') ? unknown('away') : fact('folder', true, INODE)
  const started = job.knowsStart
    ? present(startedOf(world))
    : fact('started', marks.started !== 'nobody', startedOf(world))
  const supervisor = supervisorFact(world, job, started, blind)
  const end = fact('end', marks.end !== null, marks.end ?? endRecord('exited'))
  const abort = fact('abort', marks.hasAbort, '')
  const isAtWork = end.kind === 'present' || supervisor === 'alive' || supervisor === 'unknown'
  const exit = isAtWork
    ? NOT_LOOKED
    : fact('exit', marks.exit !== 'none' && !old.has('forgets how it ended'), exitOf(marks.exit === 'stopped'))
  const isOver = exit.kind === 'present' || started.kind === 'absent' || supervisor === 'none'
  return {
    folder: folderFact,
    started,
    supervisor,
    end,
    abort,
    forced: isAtWork ? NOT_LOOKED : fact('forced', marks.isForced, ''),
    exit,
    claim: isAtWork || started.kind !== 'absent' ? NOT_LOOKED : fact('claim', true, CLAIM),
    waitsFor: null,
    rest: isAtWork ? NOT_LOOKED : folderFact.kind !== 'absent' && isOver ? ABSENT : restOf(world),
  }
}

// Only the boot of a claim is looked at here.
const CLAIM = { boot_id: 'first' } as unknown as Claim

function startedOf({ host: { marks } }: World): Started {
  const started = {
    pid: 1,
    start_ticks: 1,
    boot_id: marks.startedIn,
    inode: INODE,
  }
  return marks.started === 'agent' ? { ...started, by: 'agent' } : started
}

function exitOf(isStopped: boolean) {
  const [exit_code, signal] = isStopped ? [null, 'SIGKILL'] : [0, null]
  return { exit_code, signal, stopped: isStopped, started_at: null, time: '' }
}

function isAlive({ host }: World): boolean {
  return host.supervisor === 'at work' || host.supervisor === 'stuck'
}

function supervisorFact(world: World, job: AgentJob, started: Fact<Started>, blind: Blind): JobFacts['supervisor'] {
  if (started.kind === 'present') {
    if (started.content.by === 'agent') return 'none'
    if (blind === 'supervisor') return 'unknown'
    return isAlive(world) ? 'alive' : 'gone'
  }
  if (job.child === 'running') return 'alive'
  if (started.kind === 'unknown') return 'unknown'
  return job.child === 'none' ? 'none' : 'gone'
}

function restOf(world: World): Fact<readonly number[]> {
  return isAlive(world) || world.host.playbook === 'running' ? present([1]) : ABSENT
}

/** The timeouts of an abort pass. */
function later(world: World, { abort }: AgentJob): World {
  if (abort === null) return world
  const askedMs = abort.askedMs < ABORT_TIMEOUTS.processesMs ? ABORT_TIMEOUTS.processesMs : ABORT_TIMEOUTS.supervisorMs
  const forced = abort.forced === null ? null : { ...abort.forced, ms: ABORT_TIMEOUTS.supervisorMs }
  const toldMs = abort.toldMs === null ? null : ABORT_TIMEOUTS.supervisorMs
  return change.job(world, { abort: { askedMs, toldMs, forced } })
}

function carryOut(before: World, job: AgentJob, step: Step): World {
  const world = change.job(before, { pending: null })
  const { host } = world
  const canWrite = host.folder === 'there'
  switch (step.do) {
    case 'wait':
      return world
    case 'follow':
      return change.job(world, { end: step.end })
    case 'report removed':
      return { ...change.job(world, { isRemoved: true }), isLinked: false }
    case 'start':
      if (!canWrite) return world
      return change.job(change.host(world, { coming: [...host.coming, 'own'] }), { child: 'running' })
    case 'end unstarted': {
      if (!canWrite || host.marks.started !== 'nobody') return world
      const taken = change.marks(world, {
        started: 'agent',
        startedIn: host.boot,
      })
      // It may end between the two.
      return change.job(taken, {
        unstarted: step.end,
        pending: { do: 'end lost', end: step.end, wasStarted: false },
      })
    }
    case 'end lost': {
      if (!canWrite) return world
      const ended = step.wasStarted ? endProcesses(world) : world
      const written = writeEnd(ended, endRecord(step.end.cause, step.end))
      return change.job(written, { end: written.host.marks.end })
    }
    case 'give up':
      return world
    case 'ask abort': {
      if (!canWrite) return world
      const noted = change.marks(world, { hasAbort: true })
      const isTold = isAlive(world) && job.abort !== null
      return isTold && job.abort ? change.job(noted, { abort: { ...job.abort, toldMs: 0 } }) : noted
    }
    case 'force abort': {
      const noted = canWrite ? change.marks(world, { isForced: true }) : world
      const ended = change.truth(endProcesses(noted), { wasForced: true })
      const forced = job.abort && {
        ...job.abort,
        forced: { supervisor: step.supervisor, ms: 0 },
      }
      const told = change.job(ended, { abort: forced })
      if (!step.supervisor) return told
      return change.job(
        change.host(told, {
          supervisor: 'gone',
          coming: host.coming.filter((who) => who !== 'own'),
        }),
        {
          child: job.child === 'running' ? 'ended' : job.child,
        },
      )
    }
  }
}

function endProcesses(world: World): World {
  return world.host.playbook === 'running' ? change.host(world, { playbook: 'killed' }) : world
}
