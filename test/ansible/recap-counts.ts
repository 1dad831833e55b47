import type { Event } from './events.js'

const WORDS = ['ok', 'changed', 'unreachable', 'failed', 'skipped', 'rescued', 'ignored'] as const
type Counts = Record<(typeof WORDS)[number], number>

/** The counts of the recap, made of the other events as docs/job-folder.md says. */
export function countsOf(events: readonly Event[]): Record<string, Counts> {
  const counts: Record<string, Counts> = {}
  const count = (host: string, word: keyof Counts, isSo = true) => {
    const ofHost = (counts[host] ??= Object.fromEntries(WORDS.map((name) => [name, 0])) as Counts)
    if (isSo) ofHost[word] += 1
  }
  for (const event of events) {
    const { type, host } = event
    if (type === 'playbook_on_include') {
      for (const included of event.result?.['hosts'] as string[]) count(included, 'ok')
    }
    if (host === null || event.uncounted === true) continue
    if (type === 'runner_on_ok') count(host, 'ok')
    if (type === 'runner_on_skipped') count(host, 'skipped')
    if (type === 'runner_on_failed') count(host, event.rescued ? 'rescued' : event.ignored ? 'ignored' : 'failed')
    if (type === 'runner_on_unreachable') count(host, event.ignored ? 'ignored' : 'unreachable')
    if (event.ignored && /^runner_on_(failed|unreachable)$/.test(type)) count(host, 'ok')
    if (/^runner_on_(ok|failed)$/.test(type) && !event.rescued && (type === 'runner_on_ok' || event.ignored))
      count(host, 'changed', event.changed === true)
  }
  return counts
}
