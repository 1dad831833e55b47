import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { printBody } from '../../../follow/print-body.js'
import { unreachable } from '../../../client/words.js'
import { CliError, UnreachableError } from '../../../errors.js'
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
  try {
    await pipeline(bytesOf(body, server), file)
    await rename(partial, path)
  } catch (error) {
    await rm(partial, { force: true })
    if (error instanceof UnreachableError) throw error
    throw new CliError(EXIT.unexpected, `Cannot write ${path}: ${(error as Error).message}`)
  }
  await writeLine(terminal.stderr, `Saved ${path} (${file.bytesWritten} bytes).`)
}

/** The bytes of a body. What fails in reading them is the connection. @throws UnreachableError */
async function* bytesOf(body: Readable, server: string): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>
  } catch (error) {
    throw unreachable(server, error)
  }
}
