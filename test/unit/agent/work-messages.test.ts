import type { AgentMessage } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import type { SessionPort } from '../../../runner-agent/src/jobs/session.js'
import { waitUntil } from '../../agent/waiting.js'
import { findJob, FOUND_JOB } from './found-job.js'

const OUTPUT = '0123456789'

/** A connection that keeps what is sent. */
class KeptPort implements SessionPort {
  readonly open = true
  readonly sent: AgentMessage['type'][] = []
  /** The pieces of the output: where each begins, and what it says. */
  readonly pieces: [number, string][] = []

  bufferedBytes = (): number => 0

  send(message: AgentMessage): void {
    this.sent.push(message.type)
  }

  sendFrame(frame: Parameters<SessionPort['sendFrame']>[0], flushed: () => void): void {
    if (frame.stream === 'output') this.pieces.push([frame.offset, frame.payload.toString()])
    flushed()
  }

  close(): void {
    throw new Error('nothing here ends the connection')
  }

  ends(count: number): Promise<unknown> {
    return waitUntil(`end ${count} is sent`, () => this.sent.filter((type) => type === 'end').length === count)
  }
}

/** An agent with a job that has ended, and a control plane that has stored some of its output before. */
async function resumedAt(length: number) {
  const { jobs } = await findJob(OUTPUT)
  const port = new KeptPort()
  jobs.connected(port)
  await waitUntil('the spool is listed', () => port.sent.includes('inventory'))
  jobs.take({ type: 'resume', jobs: [{ ...FOUND_JOB, verdict: 'continue', output: length, events: 0, abort: false }] })
  await port.ends(1)
  return { jobs, port }
}

test('a job goes on with what the control plane has not stored, and with its end', async () => {
  const { port } = await resumedAt(4)
  expect(port.pieces).toEqual([[4, '456789']])
})

test('a stream is sent once more from where the control plane asks for it, and then the end', async () => {
  const { jobs, port } = await resumedAt(0)
  jobs.take({ type: 'rewind', job_id: FOUND_JOB.job_id, stream: 'output', to: 7 })
  await port.ends(2)
  expect(port.pieces).toEqual([
    [0, OUTPUT],
    [7, '789'],
  ])
})

test('what is acknowledged is under way no more', async () => {
  const { jobs } = await resumedAt(0)
  expect(jobs.figures().unacknowledgedBytes).toBe(OUTPUT.length)
  jobs.take({ type: 'ack', job_id: FOUND_JOB.job_id, output: 8, events: 0 })
  expect(jobs.figures().unacknowledgedBytes).toBe(2)
})

test('a job leaves the spool when the control plane has stored its end', async () => {
  const { jobs } = await resumedAt(0)
  jobs.take({ type: 'end_stored', ...FOUND_JOB })
  expect(jobs.figures().spooledJobs).toBe(0)
})
