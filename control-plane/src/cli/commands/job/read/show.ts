import type { Job } from '@holdfast/client'
import { writeAnswer } from '../../../show/answer.js'
import { fieldsText } from '../../../show/table.js'
import { childJobsOf, childJobsText } from './child-jobs.js'
import { failuresOf, hostWords } from './failures.js'
import { leftText } from '../../../show/left.js'
import { durationText, jobSeconds, localTime } from '../../../show/time.js'
import { waitsFor } from './waits-for.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../../common.js'
import { jobIdPosition } from '../../options.js'

/** Values that are left out: they are shown in other words below, or are too long for a terminal. `--json` has all. */
const LEFT_OUT = new Set([
  'output',
  'payload',
  'can',
  'place',
  'time_limit',
  'estimate',
  'history',
  'stages',
  'streams',
  'integrity',
])

const TIMES = new Set(['start', 'end', 'abandoned_at'])

/** `holdfast job show`: shows one job with its extra variables. */
export const showCommand = (run: Run) =>
  command({
    command: 'show <id>',
    describe: 'Show one job (its output: job follow, job download; --json holds everything)',
    builder: (yargs) => jobIdPosition(clientOptions(yargs)),
    handler: async (args) => {
      const jobId = jobIdOf(args.id)
      const client = await clientOf(run, args)
      // The output may be large, so it is left out. The service then also says where the job is.
      const job = await client.getJob(args.json ? { id: jobId, text: true } : { id: jobId, output: false })
      const children = args.json ? null : await childJobsOf(client, job.subjobs)
      const failures = args.json ? [] : await failuresOf(client, job)
      await writeAnswer(run.terminal.stdout, args.json, job, () => {
        const fields = Object.entries(job)
          .filter(([name]) => !LEFT_OUT.has(name))
          .map(([name, value]): [string, unknown] => [
            name,
            TIMES.has(name) && typeof value === 'string' ? localTime(value) : value,
          ])
        const took = durationText(jobSeconds(job.start, job.end, Date.now()))
        const waits = waitsFor(job)
        const more: [string, unknown][] = [
          ...(waits === null ? [] : [['waits for', waits] as [string, string]]),
          ...(job.place?.tasks ?? []).map((task): [string, string] => ['at', tasksWords(task)]),
          ...(job.time_limit ? [['time limit', limitWords(job.time_limit)] as [string, string]] : []),
          ...(job.estimate ? [['left', leftText(job.estimate)] as [string, string]] : []),
          ...failures.map((failure): [string, string] => ['failed', failure]),
          ['took', took],
        ]
        const text = fieldsText(run.terminal.stdout, [...fields, ...more])
        return children === null || children.shown.length === 0
          ? text
          : `${text}\n${childJobsText(run.terminal.stdout, children)}`
      })
    },
  })

function limitWords({ seconds, used_seconds: used }: NonNullable<Job['time_limit']>): string {
  return `${durationText(seconds) ?? ''}, of which ${durationText(used) ?? ''} are used`
}

/** A task and the hosts on which it runs: `Install (task 17) on web1, web2 and 3 more since 2026-11-20 08:15:30`. */
function tasksWords({ id, task, hosts, count, since }: NonNullable<Job['place']>['tasks'][number]): string {
  return `${task ?? 'a task'} (task ${id}) on ${hostWords(hosts, count)} since ${localTime(since) ?? ''}`
}
