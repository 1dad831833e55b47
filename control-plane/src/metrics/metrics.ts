import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import type { Clock } from '../time/clock.js'
import { messageOf } from '../errors.js'
import { type Nodes, SOLE_NODE } from '../nodes/nodes.js'
import type { Store } from '../store/store.js'
import { createDatabaseGauges } from './database-gauges.js'

const REQUEST_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const ACK_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** What the metrics need of other parts. */
export interface MetricsDependencies {
  readonly store: Pick<Store, 'read'>
  readonly clock: Clock
  readonly log: { warn(fields: object, text: string): void }
  /** Runners whose socket this process has. */
  readonly onlineRunners: () => number
  /** The control planes that share the database; left out: only this one. */
  readonly nodes?: Nodes['counts']
}

type Registers = Registry[]

/**
 * Everything that is measured, in a registry of this control plane's own. The parts are what the rooms call; each room
 * knows only its own few words and none of them Prometheus. Labels are bounded: routes are patterns, statuses and states
 * are ours, runners are approved by somebody.
 */
export function createMetrics(deps: MetricsDependencies) {
  const registry = new Registry()
  const registers = [registry]
  // These watch the process for as long as it lives, so there is nothing to close.
  collectDefaultMetrics({ register: registry, prefix: 'af_' })
  // The text lists the metrics in this order.
  const http = createHttpMetrics(registers)
  const signIn = createSignInMetrics(registers)
  const streams = createStreamMetrics(registers)
  const notificationTried = createNotificationMetrics(registers)
  const live = createLiveMetrics(registers)
  addGaugesOfProcess(deps, registers)
  const database = createDatabaseGauges({ ...deps, registers })

  return {
    http,
    signIn,
    streams,
    live,
    notificationTried,
    /** Everything as Prometheus text. What the database would say is left out while it does not answer. */
    async text(): Promise<{ type: string; body: string }> {
      try {
        await database.read()
      } catch (error) {
        deps.log.warn({ reason: messageOf(error) }, 'the metrics go without the figures of the database')
      }
      return { type: registry.contentType, body: await registry.metrics() }
    },
  }
}

/** Requests and launches. */
function createHttpMetrics(registers: Registers) {
  const requests = new Counter({
    name: 'af_http_requests_total',
    help: 'Requests that were answered; what stays open is none',
    labelNames: ['route', 'method', 'status'],
    registers,
  })
  const durations = new Histogram({
    name: 'af_http_request_duration_seconds',
    help: 'How long requests took',
    labelNames: ['route'],
    buckets: REQUEST_SECONDS,
    registers,
  })
  const launches = new Counter({
    name: 'holdfast_job_launches_total',
    help: 'Launches and relaunches that were asked for, by outcome',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of ['accepted', 'refused']) launches.inc({ outcome }, 0)
  return {
    requestEnded(request: {
      readonly route: string
      readonly method: string
      readonly status: number
      readonly seconds: number
    }): void {
      const { route, method, status, seconds } = request
      requests.inc({ route, method, status })
      durations.observe({ route }, seconds)
    },
    launchAnswered: (outcome: 'accepted' | 'refused') => launches.inc({ outcome }),
  }
}

function createSignInMetrics(registers: Registers) {
  const failures = new Counter({ name: 'af_login_failures_total', help: 'Sign-ins that were refused', registers })
  const lockouts = new Counter({
    name: 'af_login_lockouts_total',
    help: 'Accounts and addresses that were held back after too many failures',
    registers,
  })
  return {
    signInFailed: () => failures.inc(),
    heldBack: () => lockouts.inc(),
  }
}

/** The streams of jobs that are stored. */
function createStreamMetrics(registers: Registers) {
  const bytes = new Counter({
    name: 'holdfast_stream_bytes_stored_total',
    help: 'Bytes of the streams of jobs that were stored',
    labelNames: ['stream'],
    registers,
  })
  for (const stream of ['output', 'events']) bytes.inc({ stream }, 0)
  const events = new Counter({ name: 'holdfast_events_stored_total', help: 'Job events that were stored', registers })
  const acks = new Histogram({
    name: 'holdfast_ack_seconds',
    help: 'From the arrival of a piece of a stream to its acknowledgement, which comes after the commit',
    buckets: ACK_SECONDS,
    registers,
  })
  return {
    stored(piece: { readonly output: number; readonly events: number; readonly eventsCount: number }): void {
      bytes.inc({ stream: 'output' }, piece.output)
      bytes.inc({ stream: 'events' }, piece.events)
      events.inc(piece.eventsCount)
    },
    acknowledged: (seconds: number) => acks.observe(seconds),
  }
}

function createNotificationMetrics(registers: Registers) {
  const notifications = new Counter({
    name: 'holdfast_notifications_total',
    help: 'Attempts to deliver notifications by this process: sent, tried (it will be tried again), or given up',
    labelNames: ['channel', 'outcome'],
    registers,
  })
  for (const channel of ['webhook', 'mail']) {
    for (const outcome of ['sent', 'tried', 'failed']) notifications.inc({ channel, outcome }, 0)
  }
  return (channel: 'webhook' | 'mail', outcome: 'sent' | 'tried' | 'failed') => notifications.inc({ channel, outcome })
}

/** The open event streams. */
function createLiveMetrics(registers: Registers) {
  const liveStreams = new Gauge({
    name: 'holdfast_live_streams',
    help: 'Event streams that are open (server-sent events)',
    registers,
  })
  return {
    streamOpened: () => liveStreams.inc(),
    streamClosed: () => liveStreams.dec(),
  }
}

/** What this process knows without the database, asked whenever the text is made. */
function addGaugesOfProcess({ onlineRunners, nodes }: MetricsDependencies, registers: Registers): void {
  new Gauge({
    name: 'holdfast_runners_online',
    help: 'Runners that are connected to this process',
    registers,
    collect() {
      this.set(onlineRunners())
    },
  })
  new Gauge({
    name: 'af_nodes',
    help: 'Control planes that share the database, as this one sees them',
    labelNames: ['role', 'alive'],
    registers,
    collect() {
      const { alive, dead } = (nodes ?? SOLE_NODE.counts)()
      this.set({ role: 'app', alive: 'true' }, alive)
      this.set({ role: 'app', alive: 'false' }, dead)
    },
  })
}

/** The metrics of one control plane. */
export type Metrics = ReturnType<typeof createMetrics>
