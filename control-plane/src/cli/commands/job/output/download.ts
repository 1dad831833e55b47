import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { printBody } from '../../../follow/print-body.js'
import { unreachable } from '../../../client/words.js'
import { CliError } from '../../../errors.js'
import { EXIT } from '../../../exit-codes.js'
import { writeLine, type Terminal } from '../../../terminal.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../../common.js'
import { jobIdPosition } from '../../options.js'

/** `holdfast job download`: writes the output of a job as text, into a file or to stdout. */
export const downloadCommand = (run: Run) =>
  command({
    command: 'download <id>',
    describe: 'Download the output of a job as text',
    builder: (yargs) =>
      jobIdPosition(clientOptions(yargs)).option('output', {
        alias: 'o',
        type: 'string',
        requiresArg: true,
        describe: 'File to write (else stdout)',
      }),
    handler: async (args) => {
      const jobId = jobIdOf(args.id)
      const client = await clientOf(run, args)
      const response = await client.downloadJobOutput({ id: jobId })
      const body = Readable.fromWeb(response.body as ReadableStream<Uint8Array>)
      if (args.output === undefined) await printBody(body, run.terminal, client.server)
      else await save(body, args.output, run.terminal, client.server)
    },
  })

/** Saves the output in a file. The file gets its name only when it is complete. @throws CliError */
async function save(body: Readable, path: string, terminal: Terminal, server: string): Promise<void> {
  const partial = `${path}.partial`
  const file = createWriteStream(partial)
  let fileError: Error | null = null
  file.once('error', (error) => {
    fileError = error
  })
  try {
    await pipeline(body, file)
    await rename(partial, path)
  } catch (error) {
    await rm(partial, { force: true })
    const cause = fileError as Error | null
    if (!cause && (error as NodeJS.ErrnoException).syscall !== 'rename') throw unreachable(server, error)
    throw new CliError(EXIT.unexpected, `Cannot write ${path}: ${(cause ?? (error as Error)).message}`)
  }
  await writeLine(terminal.stderr, `Saved ${path} (${file.bytesWritten} bytes).`)
}
