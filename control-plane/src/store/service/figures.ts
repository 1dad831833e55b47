import { OPEN_STATUSES } from '../../words/job-status.js'
import type { Queries } from '../store.js'

/** Numbers of the whole database, for the metrics. */
export interface StoreFigures {
  readonly jobsByStatus: ReadonlyMap<string, number>
  readonly endedByStatus: ReadonlyMap<string, number>
  readonly runnersByState: ReadonlyMap<string, number>
  /** The last report of each approved runner about itself. */
  readonly runners: readonly { readonly name: string; readonly spoolBytes: number; readonly runningJobs: number }[]
}

/** @param endedSince jobs that ended at this time or later are counted as ended */
export async function readFigures(queries: Queries, endedSince: number): Promise<StoreFigures> {
  const [unfinished, ended, states, runners] = await Promise.all([
    queries
      .selectFrom('job')
      .select((e) => ['status as key', e.fn.countAll<number>().as('count')])
      .where('status', 'in', OPEN_STATUSES)
      .groupBy('status')
      .execute(),
    queries
      .selectFrom('job')
      .select((e) => ['status as key', e.fn.countAll<number>().as('count')])
      .where('end_time', '>=', endedSince)
      .where('status', 'not in', OPEN_STATUSES)
      .groupBy('status')
      .execute(),
    queries
      .selectFrom('runner')
      .select((e) => ['state as key', e.fn.countAll<number>().as('count')])
      .groupBy('state')
      .execute(),
    queries
      .selectFrom('runner')
      .select(['name', 'spool_bytes', 'running_jobs'])
      .where('state', '=', 'approved')
      .execute(),
  ])
  return {
    jobsByStatus: countsOf(unfinished),
    endedByStatus: countsOf(ended),
    runnersByState: countsOf(states),
    runners: runners.map((row) => ({ name: row.name, spoolBytes: row.spool_bytes, runningJobs: row.running_jobs })),
  }
}

function countsOf(rows: readonly { readonly key: string; readonly count: number }[]): ReadonlyMap<string, number> {
  return new Map(rows.map(({ key, count }) => [key, Number(count)]))
}
