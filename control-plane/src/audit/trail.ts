import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../time/clock.js'
import { messageOf } from '../errors.js'
import { type AuditEntry, completeAudit, insertAudit } from '../store/audit/audit.js'
import type { RawStore, Store } from '../store/store.js'
import type { UserType } from '../words/user-type.js'

/** Most requests whose records wait for the database. Above this, records go to the log only. */
const MAX_UNSTORED = 1000
/** Names come from outside, so longer ones are cut. */
const MAX_NAME_LENGTH = 200

/** The facts of a request when it begins. */
export interface AuditedRequest {
  readonly address: string
  readonly action: string
  readonly kind: string
  readonly requestId: string
}

/** The facts that are found while the request is handled. A later note replaces an earlier one. */
export interface AuditNote {
  readonly user?: { readonly name: string; readonly type: UserType; readonly id: number }
  readonly id?: string | number
  readonly name?: string
  readonly detail?: string
}

/** The record of one request. */
export interface AuditRecord {
  note(note: AuditNote): void
  /** What has been noted; undefined where nothing was noted. */
  readonly noted: AuditNote
  /** Handles the request. The first write in it contains the record. */
  run(handle: () => void): void
  /** Call it when the request has its answer. Returns at once; see {@link AuditTrail.allStored}. */
  finish(status: number): void
}

/**
 * The audit trail: one record for every request that would change something. A record gets into the database in this
 * way:
 *
 * - The first transaction of the request contains it, so no change is without its record. The status is not known yet.
 *   It stays null if the service ends before it answers.
 * - When the answer is known, the record is completed. If nothing was written (a refusal), the record is inserted then.
 *   The answer does not wait for that, but readers of the trail do. A record that the database does not take goes to
 *   the log completely, as an error.
 */
export interface AuditTrail {
  /** The store that the rooms write to. Writes of a request contain its record. */
  readonly store: Store
  /** Whether requests that read jobs have a record, too. */
  readonly keepsReads: boolean
  begin(request: AuditedRequest): AuditRecord
  /** Resolves when the records of all requests that were answered so far are in the database. */
  allStored(): Promise<void>
  /**
   * Waits for all records, and then stops following which request a write belongs to. Following costs a little at every
   * asynchronous step of the process.
   */
  close(): Promise<void>
}

/** What the audit trail needs of other parts. */
export interface AuditTrailDependencies {
  readonly store: RawStore
  readonly clock: Clock
  readonly log: { error(fields: object, text: string): void }
  /** AUDIT_READS. */
  readonly keepsReads?: boolean
}

/** A record that is not complete yet. */
class OpenRecord {
  noted: AuditNote = {}
  /** The write that contains it. It resolves to the record's id, or to null when that write was rolled back. */
  carried: Promise<number | null> | null = null
  isFinished = false

  constructor(
    private readonly request: AuditedRequest,
    private readonly time: number,
  ) {}

  /** @param status null: it is not known yet */
  entry(status: number | null): AuditEntry {
    const { noted, request } = this
    return {
      time: this.time,
      user: noted.user ?? null,
      address: request.address,
      action: request.action,
      object: { kind: request.kind, id: textOf(noted.id), name: textOf(noted.name) },
      status,
      requestId: request.requestId,
      detail: textOf(noted.detail),
    }
  }
}

/** Makes the {@link AuditTrail} of this control plane. */
export function createAuditTrail({ store, clock, log, keepsReads = false }: AuditTrailDependencies): AuditTrail {
  const current = new AsyncLocalStorage<OpenRecord>()
  const unstored = new Set<Promise<void>>()

  function write<T>(name: string, operation: Parameters<typeof store.write<T>>[1]): Promise<T> {
    const open = current.getStore()
    // Work after the answer, or in a loop that a request started, does not belong to the request any more.
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

  async function storeRecord(open: OpenRecord, status: number): Promise<void> {
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

  function finish(open: OpenRecord, status: number): void {
    if (open.isFinished) return
    open.isFinished = true
    if (unstored.size >= MAX_UNSTORED) {
      log.error({ audit: open.entry(status) }, 'a record of the audit trail could not be stored: too many wait')
      return
    }
    const storing = storeRecord(open, status)
    unstored.add(storing)
    void storing.finally(() => unstored.delete(storing))
  }

  async function allStored(): Promise<void> {
    await Promise.all(unstored)
  }

  return {
    store: { ...store, write } as Store,
    keepsReads,
    begin(request) {
      const open = new OpenRecord(request, clock.now())
      return {
        note(note) {
          open.noted = { ...open.noted, ...note }
        },
        get noted() {
          return open.noted
        },
        run: (handle) => current.run(open, handle),
        finish: (status) => finish(open, status),
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
