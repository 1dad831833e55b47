import type { Client, OutputHits } from '@holdfast/client'
import { createAnsiStripper } from '../../../follow/ansi-strip.js'
import { writeAnswer } from '../../../show/answer.js'
import { printable } from '../../../show/printable.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../../common.js'
import { jobIdPosition } from '../../options.js'

/** Most lines that are shown. */
const MAX_LINES = 100
/** So many bytes before and after a hit are read. A longer line is shown in part. */
const AROUND = 2000

/** `holdfast job search`: shows the lines of an output that have a text. */
export const searchCommand = (run: Run) =>
  command({
    command: 'search <id> <text>',
    describe: 'Show the lines of the output of a job that contain a text, with their numbers',
    builder: (yargs) =>
      jobIdPosition(clientOptions(yargs))
        .positional('text', { type: 'string', demandOption: true, describe: 'The text as it is, not a pattern' })
        .option('case', { type: 'boolean', default: false, describe: 'Upper and lower case are different' }),
    handler: async (args) => {
      const jobId = jobIdOf(args.id)
      const client = await clientOf(run, args)
      const hits = await allHits(client, { id: jobId, q: args.text, case: args.case })
      const lines = new Map<number, number>()
      for (const [line = 0, byte = 0] of hits) if (!lines.has(line)) lines.set(line, byte)
      const shown = args.json ? [] : await textsOf(client, jobId, [...lines].slice(0, MAX_LINES))
      const more = lines.size > MAX_LINES ? `… and ${lines.size - MAX_LINES} more lines\n` : ''
      await writeAnswer(run.terminal.stdout, args.json, { count: hits.length, hits }, () =>
        hits.length === 0 ? 'Nothing found.\n' : shown.join('') + more,
      )
    },
  })

/** Asks for all hits. The service searches for one second at each request, so it is asked until it has reached the end. */
async function allHits(
  client: Client,
  request: { readonly id: number; readonly q: string; readonly case: boolean },
): Promise<OutputHits['hits']> {
  const hits: OutputHits['hits'] = []
  for (let from: number | null = 0; from !== null;) {
    const found: OutputHits = await client.getJobOutputSearch({ ...request, from })
    hits.push(...found.hits)
    from = found.next
  }
  return hits
}

/** The lines as `12: text of the line`. The first line has the number 1. */
async function textsOf(client: Client, id: number, lines: readonly (readonly [number, number])[]): Promise<string[]> {
  const texts: string[] = []
  for (const [line, byte] of lines) {
    const offset = Math.max(0, byte - AROUND)
    const bytes = Buffer.from(await (await client.getJobOutput({ id, offset, limit: 2 * AROUND })).arrayBuffer())
    const start = bytes.lastIndexOf(0x0a, byte - offset - 1) + 1
    const end = bytes.indexOf(0x0a, byte - offset)
    const stripper = createAnsiStripper()
    const text =
      stripper.push(bytes.subarray(byte === offset ? 0 : start, end === -1 ? bytes.length : end)) + stripper.end()
    texts.push(`${line + 1}: ${printable(text)}\n`)
  }
  return texts
}
