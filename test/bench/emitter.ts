import { createHash } from 'node:crypto'
import {
  type EndRecord,
  type JobOrder,
  MAX_PAYLOAD_BYTES,
  SOCKET_PATH,
  type ServerMessage,
  WINDOW_PER_JOB_BYTES,
  encodeFrame,
} from '@holdfast/protocol'
import { endedWell } from '../support/end-record.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'

/**
 * A runner that emits known events as fast as they are acknowledged, as a process of its own:
 *   emitter.ts <address> <join token> <number of events> <bytes of one event>
 * It takes the first job that it is offered and prints one line of JSON when the end is stored.
 */
const [address = '', joinToken = '', eventCount = '0', eventBytes = '0'] = process.argv.slice(2)
const total = Number(eventCount)

/** Frames are made before the clock starts, so that the time is the control plane's. */
function makeFrames(): Buffer[] {
  const frames: Buffer[] = []
  let lines: string[] = []
  let bytes = 0
  for (let order = 1; order <= total; order += 1) {
    const event = {
      order,
      type: 'runner_on_ok',
      play: 'synthetic',
      task: `task ${order % 40}`,
      host: `host${order % 50}`,
    }
    const start = JSON.stringify({ ...event, duration: 0.012, time: '2026-01-01T00:00:00.000Z', result: { msg: '' } })
    const line = `${start.slice(0, -3)}${'x'.repeat(Math.max(0, Number(eventBytes) - start.length - 1))}"}}\n`
    if (bytes + line.length > MAX_PAYLOAD_BYTES) {
      frames.push(Buffer.from(lines.join('')))
      lines = []
      bytes = 0
    }
    lines.push(line)
    bytes += line.length
  }
  frames.push(Buffer.from(lines.join('')))
  return frames
}

const frames = makeFrames()
const hash = createHash('sha256')
for (const frame of frames) hash.update(frame)
const eventsLength = frames.reduce((sum, frame) => sum + frame.length, 0)
const eventsSha256 = hash.digest('hex')

let order: JobOrder | null = null
let next = 0
let sent = 0
let acknowledged = 0
let startedAt = 0
let storedAt = 0

function sendWhatFits(): void {
  for (;;) {
    const frame = frames[next]
    if (!order || !frame || sent + frame.length - acknowledged > WINDOW_PER_JOB_BYTES) break
    agent.raw(
      encodeFrame({
        kind: 'stream',
        stream: 'events',
        final: next === frames.length - 1,
        epoch,
        jobId: order.job_id,
        offset: sent,
        payload: frame,
      }),
    )
    sent += frame.length
    next += 1
  }
}

function endRecord(runId: string): EndRecord {
  const events = { length: eventsLength, sha256: eventsSha256, dropped: 0, errors: 0, plugin_seen: true }
  return { ...endedWell(runId, ''), events }
}

const agent = await RawAgent.join(address.replace(/^http/, 'ws') + SOCKET_PATH, newIdentity('emitter'), {
  join_token: joinToken,
})
const { epoch } = await agent.next('welcome')
agent.onMessage = handle
agent.say({ type: 'inventory', jobs: [] })

function handle(message: ServerMessage): void {
  switch (message.type) {
    case 'offer':
      if (order) return
      order = message.order
      agent.say({ type: 'claimed', job_id: order.job_id, run_id: order.run_id })
      startedAt = performance.now()
      sendWhatFits()
      return
    case 'ack':
      acknowledged = message.events
      if (acknowledged === eventsLength && storedAt === 0) {
        storedAt = performance.now()
        agent.say({ type: 'end', job_id: message.job_id, record: endRecord(order?.run_id ?? '') })
      }
      sendWhatFits()
      return
    case 'end_stored':
      console.log(JSON.stringify({ events: total, bytes: eventsLength, seconds: (storedAt - startedAt) / 1000 }))
      agent.socket.terminate()
      return
    default:
      return
  }
}
