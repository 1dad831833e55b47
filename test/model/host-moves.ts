import { type Move, NEW_JOB, type World, change, endRecord, writeEnd } from './world.js'

/** Supervisor and playbook, and what befalls the host. */
export function hostMoves(world: World): Move[] {
  return [...supervisorMoves(world), ...faults(world)]
}

function supervisorMoves(world: World): Move[] {
  const { host } = world
  const { marks } = host
  const moves: Move[] = host.coming.map((who, at) => ({
    name: `supervisor (${who}): takes the start`,
    world: takeStart(world, at),
    isProgress: true,
  }))
  const add = (name: string, next: World): void => void moves.push({ name, world: next, isProgress: true })
  if (host.playbook === 'running') add('playbook: ends', change.host(world, { playbook: 'ended' }))
  if (host.supervisor === 'at work') {
    // It writes by way of the folder that it has open, mounted or not.
    if (host.playbook === 'running' && marks.hasAbort) {
      const stopped = change.host(world, { playbook: 'killed' })
      add(
        'supervisor: obeys the abort',
        host.folder === 'removed' ? stopped : change.marks(stopped, { exit: 'stopped' }),
      )
    }
    if (host.playbook === 'ended' && marks.exit === 'none' && host.folder !== 'removed')
      add('supervisor: notes how it ended', change.marks(world, { exit: 'by itself' }))
    if (marks.exit !== 'none' && marks.end === null)
      add('supervisor: writes the end', writeEnd(world, endRecord(marks.exit === 'stopped' ? 'aborted' : 'exited')))
    const hasDone = marks.end !== null || (host.folder === 'removed' && host.playbook !== 'running')
    if (hasDone) add('supervisor: goes', gone(world))
  }
  if (host.supervisor === 'stuck' && !world.truth.wasAsked)
    add('supervisor: goes on', change.host(world, { supervisor: 'at work' }))
  return moves
}

/** Whoever creates started.json has the start; whoever cannot, goes. */
function takeStart(world: World, at: number): World {
  const { host } = world
  const who = host.coming[at]
  const left = change.host(world, {
    coming: host.coming.filter((_, other) => other !== at),
  })
  const wins = host.folder === 'there' && host.marks.started === 'nobody'
  if (!wins) {
    // Without its folder it could not try: it is started again. When the start is taken, it is not.
    const child = host.folder === 'there' ? 'ended' : 'none'
    return who === 'own' ? change.job(left, { child }) : left
  }
  const started = change.marks(left, {
    started: 'supervisor',
    startedIn: host.boot,
  })
  const isAborted = host.marks.hasAbort
  const running = change.host(started, {
    supervisor: 'at work',
    isOwn: who === 'own',
    playbook: isAborted ? 'none' : 'running',
  })
  if (isAborted) return change.marks(running, { exit: 'stopped' })
  return change.truth(running, { starts: world.truth.starts + 1 })
}

function gone(world: World): World {
  const next = change.host(world, { supervisor: 'gone' })
  return world.host.isOwn && world.agent?.job?.child === 'running' ? change.job(next, { child: 'ended' }) : next
}

function faults(world: World): Move[] {
  const { host } = world
  const moves: Move[] = []
  const spent = { ...world, budget: world.budget - 1 }
  const add = (name: string, next: World): void => void moves.push({ name, world: next, isProgress: false })
  const harm = (next: World): World => change.truth(next, { isHarmed: true })
  if (world.agent !== null) {
    const coming = host.coming.map(() => 'other' as const)
    add('agent: crashes', {
      ...change.host(spent, { coming, isOwn: false }),
      agent: null,
      isLinked: false,
    })
  }
  if (host.supervisor === 'at work' || host.supervisor === 'stuck') {
    const isKnown = host.marks.exit !== 'none' || host.marks.end !== null
    add('supervisor: is killed', isKnown ? gone(spent) : harm(gone(spent)))
  }
  if (host.supervisor === 'at work') add('supervisor: gets stuck', change.host(spent, { supervisor: 'stuck' }))
  if (host.folder === 'there') add('spool: goes away', change.host(spent, { folder: 'away' }))
  if (host.folder === 'there') add('folder: is removed by hand', harm(change.host(spent, { folder: 'removed' })))
  if (host.boot === 'first' && host.folder !== 'none') add('host: restarts', restarted(spent))
  if (host.folder === 'away')
    moves.push({
      name: 'spool: comes back',
      world: change.host(world, { folder: 'there' }),
      isProgress: true,
    })
  if (world.agent === null)
    moves.push({
      name: 'agent: starts',
      world: startAgent(world),
      isProgress: true,
    })
  return moves
}

function restarted(world: World): World {
  const { host } = world
  const isKnown = host.marks.exit !== 'none' || host.marks.end !== null
  const next = change.host(world, {
    boot: 'second',
    coming: [],
    isOwn: false,
    supervisor: host.supervisor === 'none' ? 'none' : 'gone',
    playbook: host.playbook === 'running' ? 'killed' : host.playbook,
  })
  const down = { ...next, agent: null, isLinked: false }
  return isKnown ? down : change.truth(down, { isHarmed: true })
}

/** It takes up what is in the spool. One that is away is waited for. */
function startAgent(world: World): World {
  const { host } = world
  const hasJob = host.folder === 'there' || host.folder === 'away'
  return {
    ...world,
    agent: { job: hasJob ? NEW_JOB : null, isOffered: false },
  }
}
