/** What became of one mutation. */
export type Outcome = 'killed' | 'survived' | 'without effect' | 'refused by the compiler' | 'undecided'

const OUTCOMES: readonly Outcome[] = ['killed', 'survived', 'without effect', 'refused by the compiler', 'undecided']

export interface Result {
  readonly room: string
  readonly outcome: Outcome
}

/** How many were noticed of those that have an effect and were decided, as a share; null when there were none. */
export function shareOf(results: readonly Result[]): number | null {
  const killed = results.filter(({ outcome }) => outcome === 'killed').length
  const survived = results.filter(({ outcome }) => outcome === 'survived').length
  return killed + survived === 0 ? null : killed / (killed + survived)
}

/** A line for each room and one for all of them. */
export function summaryOf(results: readonly Result[]): string {
  const rooms = [...new Set(results.map(({ room }) => room))].sort()
  const lineOf = (name: string, some: readonly Result[]): string => {
    const counts = OUTCOMES.map((outcome) => `${some.filter((one) => one.outcome === outcome).length} ${outcome}`)
    const share = shareOf(some)
    const percent = share === null ? '' : `  ${(share * 100).toFixed(0)} % of those with an effect`
    return `${name.padEnd(28)} ${counts.filter((text) => !text.startsWith('0 ')).join(', ')}${percent}`
  }
  const lines = rooms.map((room) =>
    lineOf(
      room,
      results.filter((one) => one.room === room),
    ),
  )
  return [...lines, lineOf('all', results)].join('\n')
}
