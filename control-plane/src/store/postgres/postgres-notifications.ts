import pg from 'pg'
import { UnavailableError, messageOf } from '../../errors.js'
import type { Timers } from '../../time/timers.js'

/** Of this database; whoever else uses it listens to other names. */
const CHANNEL = 'holdfast'

/** How long making a connection may take, and how long an answer on it, in milliseconds. */
const CONNECT_MS = 5000
const ANSWER_MS = 3000

/** How often it is tried whether the connection still works: one that was cut without a word says nothing, in milliseconds. */
const CHECK_MS = 2000

/** How long after a failure the next connection is made: at first, and at most, in milliseconds. */
const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 2000

/** Who listens to notifications. */
export interface NotificationListener {
  /** Something was sent, by whomever. Comes once, in the order of sending. */
  arrived(text: string): void
  /** From now on everything arrives; what was sent before may be lost. */
  connected(): void
}

/** What notifications need of other parts. */
export interface NotificationDependencies {
  readonly timers: Timers
  readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void }
}

/** Texts from each control plane to all that use the same database. */
export interface Notifications {
  /** Rejects when there is no connection now. @param text of less than 8000 bytes */
  send(text: string): Promise<void>
  close(): Promise<void>
}

/**
 * LISTEN and NOTIFY over a connection of its own, which is made again whenever it breaks:
 *   connecting → listening → pausing → connecting … → closed
 */
export function openNotifications(
  connection: pg.ClientConfig,
  listener: NotificationListener,
  { timers, log }: NotificationDependencies,
): Notifications {
  let listening: pg.Client | null = null
  let isClosed = false
  /** Said once until it works again. */
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
    // Told more than once of the same end.
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
      await client.query(`listen ${CHANNEL}`)
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
    // A client whose question is not answered in time is of no use any more; its end is told as every other.
    client?.query('select 1').catch((error: unknown) => client.emit('error', error))
  })

  return {
    async send(text) {
      if (!listening) throw new UnavailableError('database_unreachable', 'no connection for notifications')
      await listening.query('select pg_notify($1, $2)', [CHANNEL, text])
    },
    async close() {
      if (isClosed) return
      isClosed = true
      stopChecks()
      cancelPause()
      await connecting
      await listening?.end().catch(() => undefined)
    },
  }
}
