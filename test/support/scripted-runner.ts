import { createHash } from 'node:crypto'
import {
  type EndRecord,
  type JobOrder,
  type ResumedJob,
  SOCKET_PATH,
  type ServerMessage,
  encodeFrame,
} from '@holdfast/protocol'
import type { Product } from './product.js'
import { type AgentIdentity, RawAgent, newIdentity } from './raw-agent.js'
import { waitFor } from './wait.js'

/** What a playbook does when it is run. */
export interface Script {
  readonly output?: string
  /** What it publishes with `set_stats`. */
  readonly stats?: Readonly<Record<string, unknown>>
  /** Whole lines of events, beside those. */
  readonly events?: readonly object[]
  readonly exit?: number
  /** It runs until the test ends it. */
  readonly holds?: boolean
}

interface Run {
  readonly order: JobOrder
  /** What it has written, when it has ended. */
  end: { readonly output: string; readonly events: string; readonly record: EndRecord } | null
  /** The end is stored; nobody asks for it again. */
  isForgotten: boolean
}

/** Most bytes that it sends at once. */
const PIECE_BYTES = 32 * 1024

const sha256 = (data: string) => createHash('sha256').update(data).digest('hex')

/**
 * A runner that runs nothing: it claims every job once and ends it as the script of its playbook says. When the
 * connection is lost it dials again with what it has.
 */
export class ScriptedRunner {
  /** By the path of the playbook; the others print their name and end well. */
  readonly scripts = new Map<string, Script>()
  /** Every job that it was given, in their order. */
  readonly runs: Run[] = []

  /** How often it had to dial. */
  connections = 0

  #agent: RawAgent | null = null
  #epoch = 0
  #isLeaving = false

  private constructor(
    private readonly product: Product,
    private readonly identity: AgentIdentity,
  ) {}

  /** Joins with a token of its own; the first runner is the default one. */
  static async join(product: Product, name: string): Promise<ScriptedRunner> {
    const { token } = await product.admin.post<{ token: string }>('/runner/join-tokens', { name })
    const runner = new ScriptedRunner(product, newIdentity(name))
    await runner.#dial(token)
    return runner
  }

  /** How often a playbook was run. */
  countOf(playbook: string): number {
    return this.runs.filter((run) => run.order.playbook === playbook).length
  }

  /** The order of a playbook's only run, waited for. */
  orderOf(playbook: string): Promise<JobOrder> {
    return waitFor(`${playbook} to run`, () => this.runs.find((run) => run.order.playbook === playbook)?.order, {
      everyMs: 5,
    })
  }

  /** The variables that a playbook got. */
  async variablesOf(playbook: string): Promise<Record<string, unknown>> {
    const { extravars } = await this.orderOf(playbook)
    if (!('inline' in extravars)) throw new Error(`the variables of ${playbook} are too many for an order`)
    return extravars.inline
  }

  /** Ends a playbook that holds. */
  async release(playbook: string, script: Script = {}): Promise<void> {
    const order = await this.orderOf(playbook)
    this.#end(order, { ...this.scripts.get(playbook), ...script })
  }

  async leave(): Promise<void> {
    this.#isLeaving = true
    await this.#agent?.leave()
  }

  async #dial(join_token: string | null): Promise<void> {
    const url = this.product.address.replace(/^http/, 'ws') + SOCKET_PATH
    const agent = RawAgent.dial(url, this.identity)
    const hears = async (type: ServerMessage['type']) => {
      const isHeard = () => agent.messages.some((message) => message.type === type)
      await waitFor(type, () => isHeard() || agent.closed !== null, { everyMs: 5 })
      if (!isHeard()) throw new Error(`the connection was closed before ${type}`)
    }
    await hears('challenge')
    await agent.hello({ join_token, max_jobs: 0 })
    await hears('welcome')
    this.connections += 1
    this.#agent = agent
    this.#epoch = (await agent.next('welcome')).epoch
    agent.onMessage = (message) => this.#hear(message)
    agent.socket.on('close', () => void this.#dialAgain())
    const jobs = this.runs
      .filter((run) => !run.isForgotten)
      .map(({ order: { job_id, run_id }, end }) => {
        const [output, events] = [Buffer.byteLength(end?.output ?? ''), Buffer.byteLength(end?.events ?? '')]
        return { job_id, run_id, output, events, ended: end !== null }
      })
    agent.say({ type: 'inventory', jobs })
  }

  async #dialAgain(): Promise<void> {
    // As long as the longest test: a control plane that is killed again and again may not live for a handshake.
    const isThere = async (): Promise<true> => {
      if (!this.#isLeaving) await this.#dial(null)
      return true
    }
    await waitFor('the control plane to be there again', isThere, { timeoutMs: 280_000 })
  }

  #hear(message: ServerMessage): void {
    if (message.type === 'offer') this.#take(message.order)
    if (message.type === 'resume') for (const job of message.jobs) this.#resume(job)
    if (message.type === 'end_stored' || message.type === 'forget') this.#forget(message.run_id)
    if (message.type === 'abort') {
      const run = this.#runOf(message.run_id)
      if (run) this.#end(run.order, {}, 'aborted')
    }
  }

  #runOf(runId: string): Run | undefined {
    return this.runs.find(({ order }) => order.run_id === runId)
  }

  #forget(runId: string): void {
    const run = this.#runOf(runId)
    if (run) run.isForgotten = true
  }

  #take(order: JobOrder): void {
    if (this.#runOf(order.run_id)) return
    this.runs.push({ order, end: null, isForgotten: false })
    this.#agent?.say({ type: 'claimed', job_id: order.job_id, run_id: order.run_id })
    const script = this.scripts.get(order.playbook) ?? {}
    if (!script.holds) this.#end(order, script)
  }

  #resume({ run_id, verdict, output, events, abort }: ResumedJob): void {
    const run = this.#runOf(run_id)
    if (!run) return
    if (verdict !== 'continue') run.isForgotten = true
    else if (run.end) this.#tell(run, { output, events })
    else if (abort) this.#end(run.order, {}, 'aborted')
  }

  #end(order: JobOrder, script: Script, cause: EndRecord['cause'] = 'exited'): void {
    const run = this.#runOf(order.run_id)
    if (!run || run.end) return
    const output = script.output ?? `output of ${order.playbook}\n`
    const events = eventsOf(script)
    const now = new Date().toISOString()
    const record: EndRecord = {
      run_id: order.run_id,
      cause,
      exit_code: cause === 'exited' ? (script.exit ?? 0) : null,
      signal: null,
      message: null,
      aborted: cause === 'aborted',
      started_at: now,
      ended_at: now,
      output: { length: Buffer.byteLength(output), sha256: sha256(output), dropped_bytes: 0 },
      events: { length: Buffer.byteLength(events), sha256: sha256(events), dropped: 0, errors: 0, plugin_seen: true },
    }
    run.end = { output, events, record }
    this.#tell(run, { output: 0, events: 0 })
  }

  /** Sends what is not stored of a run that has ended. Without a connection nothing happens: it comes again. */
  #tell({ order, end }: Run, stored: { readonly output: number; readonly events: number }): void {
    if (!end || this.#agent?.socket.readyState !== 1) return
    for (const stream of ['output', 'events'] as const) {
      const bytes = Buffer.from(end[stream])
      for (let offset = stored[stream]; offset < bytes.length; offset += PIECE_BYTES) {
        const payload = bytes.subarray(offset, offset + PIECE_BYTES)
        const final = offset + PIECE_BYTES >= bytes.length
        const place = { epoch: this.#epoch, jobId: order.job_id, offset }
        this.#agent.raw(encodeFrame({ kind: 'stream', stream, final, ...place, payload }))
      }
    }
    this.#agent.say({ type: 'end', job_id: order.job_id, record: end.record })
  }
}

function eventsOf({ stats, events = [] }: Script): string {
  const ansible_stats = { data: stats, per_host: false, aggregate: true }
  const published = stats ? [{ action: 'set_stats', result: { changed: false, ansible_stats } }] : []
  return [...published, ...events]
    .map((event, index) => {
      const all = { play: 'p', task: 't', host: 'h', duration: 0, time: '2026-01-01T00:00:00.000Z' }
      return `${JSON.stringify({ order: index + 1, type: 'runner_on_ok', ...all, ...event })}\n`
    })
    .join('')
}
