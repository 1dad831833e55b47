import { setTimeout as pause } from 'node:timers/promises'
import { WINDOW_PER_JOB_BYTES } from '@holdfast/protocol'
import { joinHostile, networkOf, streamFrame } from '../chaos/kit/hostile.js'
import { endedWell } from '../support/end-record.js'
import { startLiveProber } from '../support/live-prober.js'
import { type Product, startProduct } from '../support/product.js'
import type { RawAgent } from '../support/raw-agent.js'
import { peakResidentBytes } from './cpu.js'
import type { Figure } from './report.js'

type Say = (line: string) => void

const REACH_MS = 100
const REACH_MB = 400
const MB = 1e6
/** What such a runner once had taken for one job. */
const SENT_BYTES = 738 * MB
const FRAME_BYTES = 256 * 1024
/** Bytes under way: of what is not acknowledged, and once it was told to stop of what waits in this process. */
const AHEAD_BYTES = WINDOW_PER_JOB_BYTES - FRAME_BYTES
/** Events of one answer when they are read back page by page, as a page of the web does. */
const PAGE = 1000
/** How often it dials again to send the rest, when it is closed because it went on after it was told to stop. */
const MAX_CONNECTIONS = 10

const FORM = `
name: hostile
type: ansible
roles: [default]
playbook: x.yml
runner: hostile
inventory: localhost,
fields: []
`

/** Events whose listed fields are as long as they are kept, and whose results are long. */
function linesOf(bytes: number): Buffer {
  const long = 'x'.repeat(4000)
  const event = {
    type: 'runner_on_ok',
    play: long,
    task: long,
    host: long,
    duration: 0,
    time: '2026-01-01T00:00:00.000Z',
  }
  const line = Buffer.from(`${JSON.stringify({ ...event, result: { msg: 'y'.repeat(10_000) } })}\n`)
  return Buffer.concat(Array.from({ length: Math.floor(bytes / line.length) }, () => line))
}

interface Sent {
  readonly jobId: number
  readonly bytes: number
  readonly connections: number
  /** Whether it was told that the stream is full. */
  readonly told: boolean
}

/**
 * Sends all it can, as fast as it is acknowledged. It is told when the stream is full, goes on, and is closed for that; then it
 * dials again and goes on. At last it says the end of its job, with all that it has.
 */
async function sendAll(product: Product): Promise<Sent> {
  const hostile = await joinHostile(product, 'hostile', 'hostile')
  const { agent: first, order, epoch: firstEpoch } = await hostile.withJob()
  const lines = linesOf(FRAME_BYTES)
  const place = { job_id: order.job_id, run_id: order.run_id }
  let agent: RawAgent = first
  let epoch = firstEpoch
  let offset = 0
  let told = false
  let connections = 1
  const dialAgain = async () => {
    agent = await hostile.connect()
    epoch = (await agent.next('welcome')).epoch
    agent.say({ type: 'inventory', jobs: [{ ...place, output: 0, events: SENT_BYTES, ended: false }] })
    await agent.next('resume')
  }
  for (; offset < SENT_BYTES && connections <= MAX_CONNECTIONS; connections += 1) {
    if (agent.closed) await dialAgain()
    offset = await send(agent, { epoch, jobId: order.job_id, lines, offset })
    told ||= agent.messages.some(({ type }) => type === 'stream_full')
  }
  const bytes = offset
  if (agent.closed) await dialAgain()
  const record = endedWell(order.run_id, '')
  const events = { ...record.events, length: SENT_BYTES }
  agent.say({ type: 'end', job_id: order.job_id, record: { ...record, events } })
  if (agent.closed) throw new Error(`closed: ${agent.closed.text}`)
  return { jobId: order.job_id, bytes, connections: connections - 1, told }
}

/** @returns the offset that was reached: the end, or less when the connection was closed */
async function send(
  agent: RawAgent,
  { epoch, jobId, lines, offset }: { epoch: number; jobId: number; lines: Buffer; offset: number },
): Promise<number> {
  let at = offset
  let acknowledged = offset
  let isFull = agent.messages.some(({ type }) => type === 'stream_full')
  agent.onMessage = (message) => {
    if (message.type === 'ack') acknowledged = message.events
    if (message.type === 'stream_full') isFull = true
  }
  const mustWait = () =>
    !agent.closed && (isFull ? networkOf(agent).writableLength > AHEAD_BYTES : at - acknowledged > AHEAD_BYTES)
  while (at < SENT_BYTES && !agent.closed) {
    agent.raw(streamFrame(epoch, jobId, at, lines, 'events'))
    at += lines.length
    // The answers are heard, and what the other side does not read yet is waited for.
    do await pause(1)
    while (mustWait())
  }
  return at
}

interface ReadBack {
  readonly events: number
  readonly pages: number
}

/** Reads all events page by page, each after the last one of the page before. */
async function readPages(product: Product, jobId: number): Promise<ReadBack> {
  let after = 0
  for (let events = 0, pages = 0; ;) {
    const path = `/job/${jobId}/events?after=${after}&limit=${PAGE}`
    const { records } = await product.admin.get<{ records: { order: number }[] }>(path)
    const last = records.at(-1)
    if (!last) return { events, pages }
    events += records.length
    pages += 1
    after = last.order
  }
}

/** Reads an answer without keeping it. @returns its length in bytes */
async function drain(product: Product, path: string): Promise<number> {
  const headers = { authorization: `Bearer ${product.admin.token}` }
  const response = await fetch(`${product.address}/api/v2${path}`, { headers })
  if (!response.ok || !response.body) throw new Error(`GET ${path}: ${response.status}`)
  let bytes = 0
  for await (const piece of response.body) bytes += (piece as Uint8Array).length
  return bytes
}

/**
 * A runner that an admin approved sends 738 MB of events for one job, under the limits that the service has by default: what is kept
 * of it, what it costs, and what reading it back costs. /live is asked by a second process meanwhile.
 */
export async function measureHostileRunner(say: Say): Promise<Figure[]> {
  const product = await startProduct({ withAgent: false, forms: { 'hostile.yaml': FORM }, playbooks: { 'x.yml': '' } })
  const prober = startLiveProber(product.address)
  try {
    const figures: Figure[] = []
    const measure = async <T>(what: string, run: () => Promise<T>, noteOf: (result: T) => string): Promise<T> => {
      await prober.waits()
      const result = await run()
      const { worst, count, late } = await prober.waits()
      const peak = peakResidentBytes(product.controlPlane.pid) / MB
      const note = `${noteOf(result)}; ${count} answers of /live, asked up to ${late.toFixed(0)} ms late`
      say(`  ${what}: worst ${worst.toFixed(0)} ms, peak memory ${peak.toFixed(0)} MB; ${note}`)
      const reach = { value: REACH_MS, better: 'lower' } as const
      figures.push({ what: `hostile runner: ${what}`, value: worst, unit: 'ms', digits: 0, reach, note })
      return result
    }
    const sent = await measure(
      'sends 738 MB of events',
      () => sendAll(product),
      ({ connections, told }) =>
        `${told ? 'told that it is full' : 'NOT told that it is full'}, ${connections} connections`,
    )
    const job = await product.waitForEnd(sent.jobId)
    say(`  the job: ${String(job['status'])}, ${String(job['detail'])}`)
    await measure(
      'all of it read back page by page',
      () => readPages(product, sent.jobId),
      ({ events, pages }) => `${events} events in ${pages} pages of ${PAGE}`,
    )
    await measure(
      'all of it read back in one answer',
      () => drain(product, `/job/${sent.jobId}/events`),
      (bytes) => `${(bytes / MB).toFixed(0)} MB`,
    )
    const peak = peakResidentBytes(product.controlPlane.pid) / MB
    return [
      ...figures,
      {
        what: 'hostile runner: peak memory of the control plane',
        value: peak,
        unit: 'MB',
        digits: 0,
        reach: { value: REACH_MB, better: 'lower' } as const,
        note: `the job: ${String(job['detail'])}`,
      },
    ]
  } finally {
    prober.close()
    await product.close()
  }
}
