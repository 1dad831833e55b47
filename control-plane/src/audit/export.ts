import { createSerialQueue } from '@holdfast/host/queues'
import type { Clock } from '../time/clock.js'
import { messageOf } from '../errors.js'
import { readAuditChain, readChained } from '../store/audit/audit-chain.js'
import { exportPosition, noteExported, takeExportTurn } from '../store/audit/audit-export.js'
import type { RawStore } from '../store/store.js'
import { startSweeps } from '../time/sweeps.js'
import type { Timers } from '../time/timers.js'
import { chainedText, exportedLine } from './record-text.js'

const SWEEP_EVERY_MS = 2000
/** Records that are sent in one go. */
const MAX_AT_ONCE = 200
/** How long other nodes leave a place to the node that sends to it, in milliseconds. */
const TURN_MS = 30_000
/** After failures, fewer and fewer sweeps try again, down to one in this many. */
const MAX_PAUSE = 16

/** A place outside the database to which the audit trail is sent. */
export interface AuditTarget {
  /** `file` or `syslog`. The position up to which records were sent is stored under this name. */
  readonly name: string
  /**
   * Resolves when the lines have arrived, as far as the place reports that. @throws Error when they may not have
   * arrived
   */
  send(lines: readonly string[]): Promise<void>
}

/**
 * Sends the records of the chain to places outside: each record at least once, and in order. No request waits for it.
 * The position up to which records were sent is in the database. So a later sweep of any node sends what failed.
 */
export function createAuditExport(deps: {
  readonly store: RawStore
  readonly clock: Clock
  readonly timers: Timers
  readonly log: { warn(fields: object, text: string): void; info(fields: object, text: string): void }
  /** The name of this node among others. */
  readonly holder: string
  readonly targets: readonly AuditTarget[]
}) {
  const { store, clock, log, holder, targets } = deps
  /** Places that failed: how often, and the number of sweeps until the next try. */
  const failing = new Map<string, { failures: number; pause: number }>()

  /** One sweep after the other: two at once would send the same records. */
  const queue = createSerialQueue()

  async function sendTo(target: AuditTarget): Promise<void> {
    const { name } = target
    while (!sweeps.isClosed) {
      const { head_position: head, anchor_position: anchor, anchor_hash: anchorHash } = await readAuditChain(store.read)
      const sent = await exportPosition(store.read, name)
      if (sent >= head) return
      const now = clock.now()
      const turn = { name, holder, now, until: now + TURN_MS }
      if (!(await store.write('audit.export', (queries) => takeExportTurn(queries, turn)))) return
      if (sent < anchor) log.warn({ place: name, from: sent + 1, to: anchor }, LOST)
      // The hash of the record before the first one is part of what is sent.
      const after = Math.max(sent, anchor)
      const [before] = after === anchor ? [] : await readChained(store.read, after - 1, 1)
      let previous = before?.position === after ? (before.hash ?? '') : anchorHash
      const records = await readChained(store.read, after, MAX_AT_ONCE)
      const last = records.at(-1)?.position
      if (last === undefined || last === null) return
      const lines = records.map((record) => {
        const { text } = chainedText(record, record.position ?? 0, previous)
        // The stored hash. If somebody changed the record, no matching hash is sent for it.
        previous = record.hash ?? ''
        return exportedLine({ text, hash: previous })
      })
      await target.send(lines)
      await store.write('audit.exported', (queries) => noteExported(queries, name, last))
    }
  }

  const sweep = (): Promise<void> => queue.add(sendAll)

  async function sendAll(): Promise<void> {
    for (const target of targets) {
      const trouble = failing.get(target.name)
      if (trouble && trouble.pause > 0) {
        trouble.pause -= 1
        continue
      }
      try {
        await sendTo(target)
        if (failing.delete(target.name)) log.info({ place: target.name }, 'the audit trail can be sent again')
      } catch (error) {
        const failures = (trouble?.failures ?? 0) + 1
        failing.set(target.name, { failures, pause: Math.min(2 ** failures, MAX_PAUSE) })
        // Logged once, not for every try.
        if (failures === 1) log.warn({ place: target.name, reason: messageOf(error) }, FAILED)
      }
    }
  }

  const sweeps = startSweeps(deps, {
    everyMs: SWEEP_EVERY_MS,
    failure: FAILED,
    sweep,
  })
  return { sweep, close: () => sweeps.close() }
}

const FAILED = 'the audit trail could not be sent; it is kept, and sent later'
const LOST = 'records of the audit trail were removed by AUDIT_RETENTION_DAYS before they could be sent'
