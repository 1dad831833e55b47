/** A task of a run: at which second it begins, and for each host the end of its event's type and the second of its result. */
export interface RunTask {
  readonly name: string
  readonly at: number
  readonly hosts: Readonly<Record<string, readonly [outcome: string, at: number]>>
  /** The line of the task in its file; its place in the list when left out. */
  readonly line?: number
}

/** What a run of these tasks tells, as lines of events. `changed` is an outcome, too. */
export function runEvents(tasks: readonly RunTask[], start = Date.parse('2026-01-01T00:00:00Z')) {
  const timeAt = (seconds: number) => new Date(start + seconds * 1000).toISOString()
  const none = { play: 'Servers', task: null, host: null }
  const events: Readonly<Record<string, unknown>>[] = [
    { type: 'playbook_on_start', ...none, time: timeAt(0) },
    { type: 'playbook_on_play_start', ...none, time: timeAt(0), play_uuid: 'p', path: 'site.yml:1' },
  ]
  let last = 0
  for (const [index, { name, at, hosts, line = index + 2 }] of tasks.entries()) {
    const says = { task: name, play: 'Servers', play_uuid: 'p', task_uuid: `task ${index}`, path: `site.yml:${line}` }
    events.push({ type: 'playbook_on_task_start', host: null, time: timeAt(at), ...says })
    for (const [host, [outcome, end]] of Object.entries(hosts)) {
      const isChanged = outcome === 'changed'
      const type = `runner_on_${isChanged ? 'ok' : outcome}`
      events.push({ type, host, time: timeAt(end), ...says, ...(isChanged && { changed: true }) })
      last = Math.max(last, end)
    }
  }
  events.push({ type: 'playbook_on_stats', ...none, time: timeAt(last) })
  return events.map((event, index) => ({ order: index + 1, ...event }))
}
