import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../clock.js'
import { messageOf } from '../errors.js'
import { type AuditEntry, completeAudit, insertAudit } from '../store/audit/audit.js'
import type { Store } from '../store/store.js'
import type { UserType } from '../user-type.js'

/** Requests whose record waits for the database at once; past it records only go to the log. */
const MAX_UNSTORED = 1000
/** Names come from outside; longer ones are cut. */
const MAX_NAME_LENGTH = 200

/** What is known of a request when it begins. */
export interface AuditedRequest {
  readonly address: string
  readonly action: string
  readonly kind: string
  readonly requestId: string
}

/** What becomes known while it is handled; a later word wins. */
export interface AuditNote {
  readonly user?: { readonly name: string; readonly type: UserType; readonly id: number }
  readonly id?: string | number
  readonly name?: string
  readonly detail?: string
}

/** The record of one request. */
export interface AuditRecord {
  note(note: AuditNote): void
  /** What has been noted; undefined where nothing was. */
  readonly noted: AuditNote
  /** Runs the handling of the request: the first write in it carries the record. */
  run(handle: () => void): void
  /** The request has its answer. Returns at once; see {@link AuditTrail.allStored}. */
  finish(status: number): void
}

/**
 * The audit trail: one record for every request that would change something. How a record gets into the database:
 *   - the first transaction of the request carries it, so that there is no change without its record; the status is
 *     not known then and stays null if the service ends before it answers;
 *   - when the answer is known the record is completed, or made if nothing was written (a refusal). The answer does
 *     not wait for that; readers of the trail do.
 * A record that the database does not take goes to the log as an error, whole.
 */
export interface AuditTrail {
  /** The store that the rooms write to: writes of a request under way carry its record. */
  readonly store: Store
  /** Whether requests that read what jobs did have a record, too. */
  readonly keepsReads: boolean
  begin(request: AuditedRequest): AuditRecord
  /** Resolves when the records of all requests that were answered so far are in the database. */
  allStored(): Promise<void>
  /** Settles, and ends the watch over who writes for which request: every asynchronous step of the process pays for it. */
  close(): Promise<void>
}

export interface AuditTrailDependencies {
  readonly store: Store
  readonly clock: Clock
  readonly log: { error(fields: object, text: string): void }
  /** AUDIT_READS. */
  readonly keepsReads?: boolean
}

/** A record on its way. */
interface Open {
  readonly entry: (status: number | null) => AuditEntry
  /** The write that carries it; the id it got, null when that write was rolled back. */
  carried: Promise<number | null> | null
  isFinished: boolean
}

export function createAuditTrail({ store, clock, log, keepsReads = false }: AuditTrailDependencies): AuditTrail {
  const current = new AsyncLocalStorage<Open>()
  const unstored = new Set<Promise<void>>()

  function write<T>(name: string, operation: Parameters<typeof store.write<T>>[1]): Promise<T> {
    const open = current.getStore()
    // Work that goes on after the answer, or in a loop that a request set off, is nobody's request any more.
    if (!open || open.isFinished || open.carried) return store.write(name, operation)
    const carrying = store.write(name, async (queries) => {
      const result = await operation(queries)
      return { result, id: await insertAudit(queries, open.entry(null)) }
    })
    open.carried = carrying.then(
      ({ id }) => id,
      () => {
        open.carried = null
        return null
      },
    )
    return carrying.then(({ result }) => result)
  }

  async function storeRecord(open: Open, status: number): Promise<void> {
    const entry = open.entry(status)
    try {
      const id = (await open.carried) ?? null
      await store.write('audit', async (queries) => {
        if (id === null) await insertAudit(queries, entry)
        else await completeAudit(queries, id, entry)
      })
    } catch (error) {
      log.error({ audit: entry, reason: messageOf(error) }, 'a record of the audit trail could not be stored')
    }
  }

  async function allStored(): Promise<void> {
    await Promise.all(unstored)
  }

  return {
    store: { ...store, write },
    keepsReads,
    begin(request) {
      const time = clock.now()
      let noted: AuditNote = {}
      const open: Open = {
        entry: (status) => ({
          time,
          user: noted.user ?? null,
          address: request.address,
          action: request.action,
          object: { kind: request.kind, id: textOf(noted.id), name: textOf(noted.name) },
          status,
          requestId: request.requestId,
          detail: textOf(noted.detail),
        }),
        carried: null,
        isFinished: false,
      }
      return {
        note(note) {
          noted = { ...noted, ...note }
        },
        get noted() {
          return noted
        },
        run: (handle) => current.run(open, handle),
        finish(status) {
          if (open.isFinished) return
          open.isFinished = true
          if (unstored.size >= MAX_UNSTORED) {
            log.error({ audit: open.entry(status) }, 'a record of the audit trail could not be stored: too many wait')
            return
          }
          const storing = storeRecord(open, status)
          unstored.add(storing)
          void storing.finally(() => unstored.delete(storing))
        },
      }
    },
    allStored,
    async close() {
      await allStored()
      current.disable()
    },
  }
}

function textOf(value: string | number | undefined): string | null {
  return value === undefined ? null : String(value).slice(0, MAX_NAME_LENGTH)
}
