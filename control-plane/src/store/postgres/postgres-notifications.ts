import { sql } from 'kysely'
import pg from 'pg'
import { UnavailableError, messageOf } from '../../errors.js'
import { within } from '../../time/time-limit.js'
import type { Timers } from '../../time/timers.js'
import type { Queries } from '../store.js'

/** The name of the channel. Other programs on the same database use other names. */
const CHANNEL = 'holdfast'
const LISTEN = `listen ${CHANNEL}`

/** Limits for making the connection, and for an answer on it, in milliseconds. */
const CONNECT_MS = 5000
const ANSWER_MS = 3000

/**
 * How often the connection is tested, in milliseconds. A connection may be cut without any message. The test says LISTEN
 * again: a pooler may have given the session to another process of the server meanwhile.
 */
const CHECK_MS = 2000

/** The pause between a failure and the next connection, in milliseconds: the first pause, and the longest one. */
const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 2000

/** The receiver of notifications. */
export interface NotificationListener {
  /** A node sent a text. Each text arrives once, in the order of sending. */
  arrived(text: string): void
  /** From now on all texts arrive. Earlier texts may be lost. */
  connected(): void
}

/** What notifications need of other parts. */
export interface NotificationDependencies {
  /** What is sent goes through these connections, so that what comes back has really been to another one. */
  readonly queries: Queries
  readonly timers: Timers
  readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void }
}

/** Sends texts from each control plane to all control planes on the same database. */
export type Notifications = ReturnType<typeof openNotifications>

/**
 * LISTEN over a separate connection, which is made again whenever it breaks: connecting → listening → pausing →
 * connecting … → closed. NOTIFY goes over other connections. A server that sends a connection what this connection itself
 * has sent shows nothing about what others send.
 */
export function openNotifications(
  connection: pg.ClientConfig,
  listener: NotificationListener,
  { queries, timers, log }: NotificationDependencies,
) {
  let listening: pg.Client | null = null
  let isClosed = false
  /** A failure is logged once, until it works again. */
  let isReported = false
  let pauseMs = FIRST_PAUSE_MS
  let cancelPause = (): void => undefined
  let connecting: Promise<void> = Promise.resolve()

  async function connect(): Promise<void> {
    const client = new pg.Client({
      ...connection,
      application_name: 'holdfast notifications',
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: ANSWER_MS,
    })
    // It may be called several times for the same end.
    let isOver = false
    const over = (reason: string) => {
      if (isOver) return
      isOver = true
      if (listening === client) listening = null
      client.end().catch(() => undefined)
      if (isClosed) return
      if (!isReported) log.warn({ reason }, 'no word from the other nodes until the database is reached again')
      isReported = true
      cancelPause = timers.after(pauseMs, () => {
        connecting = connect()
      })
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)
    }
    client.on('error', (error) => over(messageOf(error)))
    client.on('end', () => over('the connection ended'))
    client.on('notification', ({ payload = '' }) => listener.arrived(payload))
    try {
      await client.connect()
      await client.query(LISTEN)
    } catch (error) {
      return over(messageOf(error))
    }
    if (isClosed) return void (await client.end().catch(() => undefined))
    if (isOver) return
    listening = client
    isReported = false
    pauseMs = FIRST_PAUSE_MS
    log.info({}, 'listening to the other nodes')
    listener.connected()
  }

  connecting = connect()
  const stopChecks = timers.every(CHECK_MS, () => {
    const client = listening
    // A client whose query gets no answer in time cannot be used any more. Its end is reported like any other.
    client?.query(LISTEN).catch((error: unknown) => client.emit('error', error))
  })

  return {
    /** Rejects when the server does not take it soon. @param text of less than 8000 bytes */
    async send(text: string): Promise<void> {
      const tooLate = () => new UnavailableError('database_unreachable', 'the database takes no notification now')
      if (isClosed) throw tooLate()
      await within(ANSWER_MS, sql`select pg_notify(${CHANNEL}, ${text})`.execute(queries), tooLate)
    },
    async close(): Promise<void> {
      if (isClosed) return
      isClosed = true
      stopChecks()
      cancelPause()
      await connecting
      await listening?.end().catch(() => undefined)
    },
  }
}
