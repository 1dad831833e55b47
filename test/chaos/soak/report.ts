import type { SoakOptions } from './options.js'
import type { Verdict } from './verdict.js'

/** The last line: all that was done, and what was lost, doubled or wrong. */
export function lastLine(
  { seed, minutes, database, nodes }: SoakOptions,
  verdict: Verdict,
  faults: ReadonlyMap<string, number>,
  restarts: Readonly<Record<string, number>>,
): string {
  const { jobs } = verdict
  const all = jobs.emitted + jobs.ansible
  const faultCount = [...faults.values()].reduce((sum, count) => sum + count, 0)
  const kinds = [...faults]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, count]) => `${name} ${count}`)
  return (
    `chaos: seed ${seed}, ${minutes} min, ${database}, ${nodes} ${nodes === 1 ? 'node' : 'nodes'}: ${all} jobs (${jobs.emitted} emitted, ${jobs.ansible} ansible; ` +
    `${jobs.aborted} aborted, ${jobs.harmed} harmed, ${jobs.abandoned} abandoned on the way, ${jobs.refused} refused), ` +
    `${faultCount} faults (${kinds.join(', ')}), ` +
    `restarts (${Object.entries(restarts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}), ` +
    `compared ${(verdict.outputBytes / 1e6).toFixed(1)} MB of output and ${verdict.events} events: ` +
    `lost ${verdict.lost}, doubled ${verdict.doubled}, wrong ${verdict.wrong}, ` +
    `false ends ${verdict.falseEnds}, killed by us ${verdict.killed}, never ended ${verdict.neverEnded}`
  )
}
