import { type JobStatus, STATUS_MOVES } from '../../control-plane/src/words/job-status.js'
import { isEnded } from '../../control-plane/src/jobs/record/status.js'
import { jobOutcomeOf } from '../../control-plane/src/jobs/end/outcome.js'
import { type Move, NEW_JOB, type OldFault, type Row, type World, change } from './world.js'

const GIVEN_UP = { status: 'abandoned', wasAbandoned: true } as const

/** The control plane, its connection to the agent, and the people. */
export function serviceMoves(world: World, old: ReadonlySet<OldFault>): Move[] {
  return [...linkMoves(world, old), ...serviceFaults(world, old), ...wishes(world)]
}

function linkMoves(world: World, old: ReadonlySet<OldFault>): Move[] {
  const { row, agent, service } = world
  const moves: Move[] = []
  const add = (name: string, next: World): void => void moves.push({ name, world: next, isProgress: true })
  if (service === 'down') {
    add('control plane: starts', { ...world, service: 'up' })
    return moves
  }
  // An agent whose spool is away has nothing to tell yet.
  const canTell = world.host.folder !== 'away' || old.has('judges an absent spool')
  if (agent !== null && !world.isLinked && world.runner === 'approved' && canTell)
    add('agent: connects', settled(world, old))
  if (agent === null || !world.isLinked) return moves

  if (row?.dispatch === 'queued' && row.status === 'running')
    add('control plane: offers', {
      ...change.row(world, { dispatch: 'offered' }),
      agent: { ...agent, isOffered: true },
    })
  if (agent.isOffered) {
    // One that has it already says so again. A run that left this host is not taken a second time.
    const claimed = { ...agent, isOffered: false, job: agent.job ?? NEW_JOB }
    const isNew = agent.job === null && world.host.folder === 'none'
    const folder = isNew ? change.host(world, { folder: 'there' }) : world
    if (isNew || agent.job !== null)
      add('agent: claims', change.row({ ...folder, agent: claimed }, { dispatch: 'claimed' }))
  }
  if (agent.job === null) return moves
  if (row?.dispatch === 'claimed' && row.abortAsked && agent.job.abort === null && agent.job.end === null)
    add('control plane: sends the abort', change.job(world, { abort: { askedMs: 0, toldMs: null, forced: null } }))
  if (agent.job.end !== null) add('agent: tells the end', tellEnd(world))
  return moves
}

/** The runner's list of jobs against the database, after each connect. */
function settled(world: World, old: ReadonlySet<OldFault>): World {
  const { row, agent } = world
  const next: World = { ...world, isLinked: true }
  if (agent === null) return next
  const isListed = agent.job !== null && !agent.job.isRemoved && !(world.host.folder === 'away')
  const isKnown = row !== null && !(row.isOfRemoved && old.has('knows jobs by the row of their runner'))
  if (!isListed) return isKnown ? missing(next, row) : next
  // A row that somebody deleted: the job goes, too.
  if (!isKnown)
    return change.job(next, {
      isForgotten: true,
      abort: { askedMs: 0, toldMs: null, forced: null },
    })
  if (row.dispatch === 'done') return { ...next, agent: { ...agent, job: null } }
  const continued = change.row(next, {
    dispatch: 'claimed',
    isOfRemoved: false,
  })
  return row.abortAsked && agent.job?.end === null
    ? change.job(continued, {
        abort: { askedMs: 0, toldMs: null, forced: null },
      })
    : continued
}

/** The runner does not have a job that it was given. */
function missing(world: World, row: Row): World {
  if (row.dispatch === 'claimed') return end(world, 'failed')
  if (row.dispatch !== 'offered') return world
  if (row.abortAsked) return end(world, 'aborted')
  return isEnded(row.status) ? end(world, 'failed') : change.row(world, { dispatch: 'queued' })
}

function end(world: World, status: JobStatus): World {
  const { row } = world
  const isAllowed = row !== null && (STATUS_MOVES[row.status] as readonly JobStatus[]).includes(status)
  return isAllowed ? change.row(world, { status, dispatch: 'done' }) : world
}

/** The control plane stores the end; the runner then removes what it has. */
function tellEnd(world: World): World {
  const record = world.agent?.job?.end
  if (!record || world.agent === null) return world
  const told =
    world.row === null || world.row.dispatch === 'done'
      ? world
      : end(world, jobOutcomeOf(record, world.row.abortAsked ? 'ada' : null).status)
  return change.host({ ...told, agent: { ...world.agent, job: null } }, { folder: 'none' })
}

function serviceFaults(world: World, old: ReadonlySet<OldFault>): Move[] {
  const { row } = world
  const spent = { ...world, budget: world.budget - 1 }
  const moves: Move[] = []
  const add = (name: string, next: World): void => void moves.push({ name, world: next, isProgress: false })
  if (world.isLinked) {
    const cut = world.agent && { ...world.agent, isOffered: false }
    add('connection: is cut', { ...spent, isLinked: false, agent: cut })
    add('control plane: crashes', {
      ...spent,
      isLinked: false,
      service: 'down',
      agent: cut,
    })
  }
  const isSilent = !world.isLinked && world.service === 'up'
  if (isSilent && row?.status === 'running' && (row.dispatch === 'offered' || row.dispatch === 'claimed'))
    add('control plane: the silence is long', change.row(spent, GIVEN_UP))
  // Nothing is kept as a time of the clock, so a step of it changes nothing.
  if (row?.dispatch === 'queued' && old.has('keeps a wait as a clock')) add('clock: steps', end(spent, 'failed'))
  return moves
}

function wishes(world: World): Move[] {
  const { row, runner, service } = world
  if (service === 'down') return []
  const spent = { ...world, budget: world.budget - 1 }
  const asked = change.truth(spent, { wasAsked: true })
  const moves: Move[] = []
  const add = (name: string, next: World): void => void moves.push({ name, world: next, isProgress: false })
  if (row && !row.abortAsked && !isFinal(row.status)) {
    const noted = change.row(asked, { abortAsked: true })
    add('ada: aborts', row.dispatch === 'queued' ? end(noted, 'aborted') : noted)
  }
  if (row && row.status !== 'running') add('ada: deletes the job', { ...asked, row: null })
  // A runner that is shut out hears of nothing, and its jobs are known by their run and its key.
  const given = (next: World): World =>
    row?.status === 'running' && row.dispatch !== 'queued' ? change.row(next, GIVEN_UP) : next
  const shut = (next: World): World => ({
    ...next,
    isLinked: false,
    agent: next.agent && { ...next.agent, isOffered: false },
  })
  if (runner === 'approved') {
    add('ada: revokes the runner', given({ ...shut(spent), runner: 'revoked' }))
    add(
      'ada: removes the runner',
      change.row(given({ ...shut(spent), runner: 'removed' }), {
        isOfRemoved: true,
      }),
    )
  } else {
    moves.push({
      name: 'ada: approves the runner again',
      world: { ...world, runner: 'approved' },
      isProgress: true,
    })
  }
  return moves
}

/** Nothing may leave it any more. */
export function isFinal(status: JobStatus): boolean {
  return STATUS_MOVES[status].length === 0
}
