import { mayStillEnd } from '../exit-codes.js'
import { paint, statusPaint } from '../show/paint.js'
import { printable } from '../show/printable.js'
import { leftText } from '../show/left.js'
import { durationText, jobSeconds } from '../show/time.js'
import { userName } from '../show/user-name.js'
import { writeLine, type Terminal } from '../terminal.js'
import { outputFilter } from './output-filter.js'
import type { FollowSink } from './follow-job.js'
import type { JobRecord } from '@holdfast/client'

/** Shortest time between two notices of how long a job will still take, in milliseconds. */
const LEFT_EVERY_MS = 30_000

/** A sink that also shows the end of the job. */
export interface FollowingSink extends FollowSink {
  /** Call with the job as it ended, after all its output. */
  end(job: JobRecord): Promise<void>
}

/**
 * Makes a sink for people. It writes the output of the job to stdout as the playbook wrote it, and all else to stderr.
 * @param waits true when an abandoned job is followed until its real outcome
 */
export function createTerminalSink(terminal: Terminal, color: boolean, waits: boolean): FollowingSink {
  const filter = outputFilter(terminal.stdout, color)
  let midLine = false
  let isAwaiting = false
  let leftSaidAt = -Infinity

  async function notice(text: string): Promise<void> {
    if (midLine && terminal.stdout.isTerminal) await terminal.stderr.write('\n')
    midLine = false
    await writeLine(terminal.stderr, text)
  }

  return {
    async status(job) {
      if (job.status === 'approve') {
        await notice(`Job ${job.id} waits for an approval${giversText(job.approval)}.`)
      } else if (isAwaiting && job.approval?.state === 'approved') {
        const { decided_by: name, decided_by_type: type } = job.approval
        await notice(`Job ${job.id} was approved${name === null ? '' : ` by ${printable(userName(name, type))}`}.`)
      }
      isAwaiting = job.status === 'approve'
      if (waits && mayStillEnd(job.status)) {
        await notice(
          `Job ${job.id} was given up${reasonText(job)}. Waiting for its real outcome; Ctrl-C stops waiting.`,
        )
      }
    },
    async output(bytes) {
      await terminal.stdout.write(filter ? filter.push(bytes) : bytes)
      midLine = bytes.at(-1) !== 0x0a
    },
    async left(estimate) {
      // Only for a person at a terminal. A script that keeps stderr does not need it.
      if (!terminal.stderr.isTerminal || performance.now() - leftSaidAt < LEFT_EVERY_MS) return
      leftSaidAt = performance.now()
      await notice(leftText(estimate))
    },
    connectionLost: (error) =>
      notice(
        `The connection to the control plane is lost; the job goes on. Trying again every 3 s. (${printable(error.message)})`,
      ),
    connectionBack: () => notice('Connected again.'),
    async end(job) {
      const rest = filter?.end()
      if (rest) await terminal.stdout.write(rest)
      const took = durationText(jobSeconds(job.start, job.end, Date.now()))
      const status = paint(terminal.stderr, job.status, statusPaint(job.status))
      await notice(`Job ${job.id} ended ${status}${took ? ` after ${took}` : ''}${reasonText(job)}`)
      if (mayStillEnd(job.status)) {
        await notice(
          'Its playbook may still be running, and its real outcome replaces this as soon as the runner reports it. ' +
            `Wait for it with: holdfast job follow ${job.id} --wait   End it with: holdfast job abort ${job.id} --abandoned`,
        )
      }
    },
  }
}

/** Who may approve, as the end of a sentence. Empty when the server does not tell. */
function giversText(approval: JobRecord['approval']): string {
  if (approval === null) return ''
  const { title, roles } = approval
  const givers = roles.length === 0 ? 'an admin' : `${roles.map(printable).join(', ')} or an admin`
  const name = title === null ? '' : ` '${printable(title)}'`
  return `${name} by ${roles.some((role) => role === 'default' || role === 'public') ? 'anyone' : givers}`
}

/** Why a job has its status, as the end of a sentence. Empty when there is no reason. */
function reasonText(job: JobRecord): string {
  const reasons = [job.status_reason, job.detail].filter((text) => text !== null)
  return reasons.length > 0 ? `: ${printable(reasons.join('; '))}` : ''
}
