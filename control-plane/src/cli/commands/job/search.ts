import type { Client, OutputHits } from '@holdfast/client'
import { createAnsiStripper } from '../../follow/ansi-strip.js'
import { writeAnswer } from '../../show/answer.js'
import { printable } from '../../show/printable.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../common.js'

/** Lines that are shown. */
const MOST_LINES = 100
/** Bytes of the output around a hit. A longer line is shown in part. */
const AROUND = 2000

/** `holdfast job search`: the lines of an output with a text. */
export const searchCommand = (run: Run) =>
  command({
    command: 'search <id> <text>',
    describe: 'Show the lines of the output of a job that have a text, with their numbers',
    builder: (yargs) =>
      clientOptions(yargs)
        .positional('id', { type: 'string', demandOption: true, describe: 'Id of the job' })
        .positional('text', { type: 'string', demandOption: true, describe: 'Literal text' })
        .option('case', { type: 'boolean', default: false, describe: 'Large and small letters are different' }),
    handler: async (args) => {
      const jobId = jobIdOf(args.id)
      const client = await clientOf(run, args)
      const hits = await allHits(client, { id: jobId, q: args.text, case: args.case })
      const lines = new Map<number, number>()
      for (const [line = 0, byte = 0] of hits) if (!lines.has(line)) lines.set(line, byte)
      const shown = args.json ? [] : await textsOf(client, jobId, [...lines].slice(0, MOST_LINES))
      const more = lines.size > MOST_LINES ? `… and ${lines.size - MOST_LINES} more lines\n` : ''
      await writeAnswer(run.terminal.stdout, args.json, { count: hits.length, hits }, () =>
        hits.length === 0 ? 'Nothing found.\n' : shown.join('') + more,
      )
    },
  })

/** The service searches for a second at a time, so it is asked until it has come to the end. */
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

/** `12: text of the line`, numbered from 1 on. */
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
