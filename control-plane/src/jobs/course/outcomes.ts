import type { EventHead } from './event-head.js'

/** The letters of a matrix, by the result of a task at a host. */
export const LETTERS = {
  none: '.',
  running: '>',
  ok: 'o',
  changed: 'c',
  failed: 'f',
  ignored: 'i',
  rescued: 'r',
  skipped: 's',
  unreachable: 'u',
} as const
/** One of the outcomes that have a letter. */
export type TaskOutcome = keyof typeof LETTERS

/** How many results there are of each kind, as the recap counts them. */
export type OutcomeCounts = Record<'ok' | 'changed' | 'failed' | 'skipped' | 'unreachable' | 'ignored', number>

/** Counts of nothing. */
export const noCounts = (): OutcomeCounts => ({ ok: 0, changed: 0, failed: 0, skipped: 0, unreachable: 0, ignored: 0 })

/** The outcome that an event of a host tells. */
export const OUTCOMES: Readonly<Record<string, TaskOutcome>> = {
  runner_on_ok: 'ok',
  runner_on_failed: 'failed',
  runner_on_skipped: 'skipped',
  runner_on_unreachable: 'unreachable',
}

/** The outcome that a letter shows: it also tells which tasks changed something, and which failures did not count. */
export function taskOutcomeOf(word: TaskOutcome, head: EventHead): TaskOutcome {
  if (word === 'ok' && head.changed) return 'changed'
  if (word === 'failed' && head.ignored) return 'ignored'
  if (word === 'failed' && head.rescued) return 'rescued'
  return word
}

/** Counts as the recap does: a task that changed something is also ok, and so is an ignored failure. */
export function countIn(counts: OutcomeCounts, outcome: TaskOutcome): void {
  if (outcome === 'changed' || outcome === 'ok' || outcome === 'ignored') counts.ok += 1
  if (outcome === 'changed') counts.changed += 1
  if (outcome === 'ignored') counts.ignored += 1
  if (outcome === 'failed' || outcome === 'rescued') counts.failed += 1
  if (outcome === 'skipped') counts.skipped += 1
  if (outcome === 'unreachable') counts.unreachable += 1
}
