import { writeAnswer } from '../../show/answer.js'
import { fieldsText } from '../../show/table.js'
import { partsOf, partsText } from './parts.js'
import { durationText, jobSeconds, localTime } from '../../show/time.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../common.js'

/** Said elsewhere, or too long for a terminal; `--json` has everything. */
const LEFT_OUT = new Set(['output', 'payload'])
const TIMES = new Set(['start', 'end', 'abandoned_at'])

/** `holdfast job show`: one job with its extra variables. */
export const showCommand = (run: Run) =>
  command({
    command: 'show <id>',
    describe: 'Show one job (its output: job follow, job download; --json holds everything)',
    builder: (yargs) =>
      clientOptions(yargs).positional('id', { type: 'string', demandOption: true, describe: 'Id of the job' }),
    handler: async (args) => {
      const jobId = jobIdOf(args.id)
      const client = await clientOf(run, args)
      const job = await client.getJob({ id: jobId, text: true })
      const parts = args.json ? null : await partsOf(client, job.subjobs)
      await writeAnswer(run.terminal.stdout, args.json, job, () => {
        const fields = Object.entries(job)
          .filter(([name]) => !LEFT_OUT.has(name))
          .map(([name, value]): [string, unknown] => [
            name,
            TIMES.has(name) && typeof value === 'string' ? localTime(value) : value,
          ])
        const took = durationText(jobSeconds(job.start, job.end, Date.now()))
        const text = fieldsText(run.terminal.stdout, [...fields, ['took', took]])
        return parts === null || parts.shown.length === 0 ? text : `${text}\n${partsText(run.terminal.stdout, parts)}`
      })
    },
  })
