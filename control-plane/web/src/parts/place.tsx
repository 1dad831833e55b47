import type { Job } from '@holdfast/client'
import { words } from '../words/en.js'
import { durationText, timeText } from './time.js'

/** Hosts of a task that are named; of the others the number is said. */
const HOSTS_NAMED = 3
/** Tasks that are named; of the others the number is said. */
const TASKS_NAMED = 2

/** Where a job is now, in words. What its status and its runner say already is left out. */
export function Place({ place }: { readonly place: NonNullable<Job['place']> }) {
  const { state, before, until, tasks, group } = place
  const isApproval = state === 'waiting' && !group
  const word = isApproval ? words.place.approval : (words.place as Readonly<Record<string, unknown>>)[state]
  const isUsual = state === 'running' || state === 'waiting'
  const runner = isUsual && place.runner?.online !== false ? null : place.runner
  const parts = [
    ...(isUsual && tasks.length > 0 ? [] : [typeof word === 'string' ? word : state]),
    ...(group ? [words.place.group(group.name, group.limit, group.running.join(', '))] : []),
    ...(group && group.before > 0 ? [words.place.before(group.before)] : []),
    ...(runner ? [words.place.on(runner.name)] : []),
    ...(before !== null && before > 0 ? [words.place.before(before)] : []),
    ...(until === null ? [] : [words.place.until(timeText(until))]),
    ...(runner && !runner.online && runner.last_seen !== null ? [words.place.seen(timeText(runner.last_seen))] : []),
    ...tasks
      .slice(0, TASKS_NAMED)
      .map(({ task, hosts, count }) =>
        words.place.task(
          task ?? words.none,
          hosts.slice(0, HOSTS_NAMED).join(', '),
          Math.max(0, count - Math.min(hosts.length, HOSTS_NAMED)),
        ),
      ),
    ...(tasks.length > TASKS_NAMED ? [words.place.moreTasks(tasks.length - TASKS_NAMED)] : []),
  ]
  return <>{parts.join(' · ')}</>
}

/** A bar for what is done, and in words what is left. */
export function Left({ estimate }: { readonly estimate: NonNullable<Job['estimate']> }) {
  const { progress, left_seconds: left, shortest_seconds: shortest, longest_seconds: longest, runs } = estimate
  const spread =
    roughText(shortest) === roughText(longest) ? '' : words.left.spread(roughText(shortest), roughText(longest))
  const text = longest === 0 ? words.left.longer : words.left.about(roughText(left), spread)
  return (
    <span title={words.left.runs(runs)}>
      <progress value={progress} aria-label={words.job.left} /> {text}
    </span>
  )
}

/** Whole seconds below a minute, whole minutes above five: an estimate is no better. */
function roughText(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  return seconds < 300 ? durationText(seconds * 1000) : `${Math.round(seconds / 60)} min`
}
