import type { Client } from '@holdfast/client'
import { InterruptedError } from '../errors.js'
import { EXIT, exitCodeOf, type ExitCode } from '../exit-codes.js'
import type { Terminal } from '../terminal.js'
import { type FollowSink, followJob } from './follow-job.js'
import { createJsonSink } from './json-sink.js'
import { createTerminalSink } from './terminal-sink.js'

/** How a job is followed. */
export interface FollowOptions {
  readonly json: boolean
  /** Whether the output keeps its colours. Undefined: it does when stdout takes colours. */
  readonly color: boolean | undefined
  /** True: an abandoned job is followed until its real outcome. */
  readonly wait: boolean
}

/** Follows a job in this terminal until it ends or the person presses Ctrl-C; returns the command's exit code. */
export async function runFollow(
  client: Client,
  terminal: Terminal,
  jobId: number,
  options: FollowOptions,
): Promise<ExitCode> {
  const stop = new AbortController()
  let status = ''
  // Heard only once: a second Ctrl-C ends the process at once, as in every program.
  const interrupt = (): void =>
    stop.abort(
      new InterruptedError(
        status === 'approve'
          ? `Stopped following; job ${jobId} still waits for its approval. Follow it again with: holdfast job follow ` +
              `${jobId}   End it with: holdfast job reject ${jobId}`
          : `Stopped following; job ${jobId} goes on. Follow it again with: holdfast job follow ${jobId}   ` +
              `End it with: holdfast job abort ${jobId}${status === 'abandoned' ? ' --abandoned' : ''}`,
      ),
    )
  process.once('SIGINT', interrupt)
  try {
    const color = options.color ?? (terminal.stdout.color && !options.json)
    const sink = options.json ? createJsonSink(terminal, color) : createTerminalSink(terminal, color, options.wait)
    const watched: FollowSink = {
      ...sink,
      status(job) {
        status = job.status
        return sink.status(job)
      },
    }
    const job = await followJob(client, jobId, watched, options.wait ? 'real' : 'any', stop.signal)
    await sink.end(job)
    return exitCodeOf(job.status) ?? EXIT.unexpected
  } finally {
    process.removeListener('SIGINT', interrupt)
  }
}
