/** What the control plane answers for a grid of hosts and tasks. @param cells a row of letters for each task */
export function gridAnswers(hostCount: number, cells: readonly string[]) {
  const hosts = Array.from({ length: hostCount }, (_, host) => `host${host + 1}`)
  const tasks = cells.map((_, task) => task + 2)
  const time = '2026-01-01T00:00:00.000Z'
  const records = tasks.map((id) => ({
    id,
    kind: 'task',
    play: 1,
    name: `Task ${id - 1}`,
    role: null,
    path: null,
    order: id,
    started: time,
    ended: time,
    ok: hostCount,
    changed: 0,
    failed: 0,
    skipped: 0,
    unreachable: 0,
    ignored: 0,
    hosts: hostCount,
  }))
  return {
    matrix: { hosts, tasks, cells, complete: true },
    outline: { count: tasks.length, records, last: tasks.length + 1, complete: true },
  }
}
