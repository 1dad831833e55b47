import { paint, statusPaint } from '../show/paint.js'
import { printable } from '../show/printable.js'
import { durationText, jobSeconds } from '../show/time.js'
import { writeLine, type Terminal } from '../terminal.js'
import { createAnsiStripper } from './ansi-strip.js'
import type { FollowSink } from './follow-job.js'
import type { JobRecord } from '../client/schemas.js'

export interface FollowingSink extends FollowSink {
  end(job: JobRecord): Promise<void>
}

/** For people: the job's output on stdout as the playbook wrote it, everything else on stderr. */
export function createTerminalSink(terminal: Terminal, color: boolean): FollowingSink {
  const stripper = color ? null : createAnsiStripper()
  let midLine = false

  async function notice(text: string): Promise<void> {
    if (midLine && terminal.stdout.isTerminal) await terminal.stderr.write('\n')
    midLine = false
    await writeLine(terminal.stderr, text)
  }

  return {
    async status(job) {
      if (job.status === 'approve') await notice(`Job ${job.id} waits for an approval.`)
    },
    async output(bytes) {
      await terminal.stdout.write(stripper ? stripper.push(bytes) : bytes)
      midLine = bytes.at(-1) !== 0x0a
    },
    connectionLost: (error) =>
      notice(
        `The connection to the control plane is lost; the job goes on. Trying again every 3 s. (${error.message})`,
      ),
    connectionBack: () => notice('Connected again.'),
    async end(job) {
      const rest = stripper?.end()
      if (rest) await terminal.stdout.write(rest)
      const took = durationText(jobSeconds(job.start, job.end, Date.now()))
      const reasons = [job.status_reason, job.detail].filter((text) => text !== null)
      const reason = reasons.length > 0 ? `: ${printable(reasons.join('; '))}` : ''
      const status = paint(terminal.stderr, job.status, statusPaint(job.status))
      await notice(`Job ${job.id} ended ${status}${took ? ` after ${took}` : ''}${reason}`)
    },
  }
}
