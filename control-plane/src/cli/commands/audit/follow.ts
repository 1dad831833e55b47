import { setTimeout as delay } from 'node:timers/promises'
import { type AuditList, type AuditRecord, type Client, writeJson } from '@holdfast/client'
import { InterruptedError, isPassingFailure } from '../../errors.js'
import { printable } from '../../show/printable.js'
import { localTime } from '../../show/time.js'
import { type Terminal, writeLine } from '../../terminal.js'

/** How often new records are asked for, in milliseconds. */
const ASK_EVERY_MS = 1000
/** Most records of one request. */
const PAGE = 1000

/** So many ids before the newest record are read again: of several nodes, one may store a lower id a little later. */
const OVERLAP_IDS = 200

const RESTORED = 'The database of the control plane was restored. The records of the restored database follow.'

type Filter = NonNullable<Parameters<Client['listAudit']>[0]>

/**
 * Writes records of the audit trail, the oldest first, and then each new one, until Ctrl-C. When the control plane is away,
 * it is asked again and again. No record comes twice. A restored database may give the same ids again. So this begins again
 * with the records of that database.
 * @param filter the filter of the first request, with the number of records
 * @param first the records to begin with, the newest first
 */
export async function followAudit(
  client: Client,
  terminal: Terminal,
  filter: Filter,
  first: AuditList,
  json: boolean,
): Promise<never> {
  const stop = new AbortController()
  const interrupt = (): void => stop.abort(new InterruptedError('Stopped following the audit trail.'))
  process.once('SIGINT', interrupt)
  const followed = new Followed(async (record) => writeLine(terminal.stdout, json ? writeJson(record) : lineOf(record)))
  try {
    await followed.begin(first)
    let isLost = false
    for (;;) {
      await delay(ASK_EVERY_MS, undefined, { signal: stop.signal }).catch(() => stop.signal.throwIfAborted())
      try {
        const newer = await newerThan(client, filter, followed.from)
        if (newer.database === followed.database) await followed.write(newer.records)
        else {
          await writeLine(terminal.stderr, RESTORED)
          await followed.begin(await client.listAudit(filter))
        }
        isLost = false
      } catch (error) {
        if (!isPassingFailure(error)) throw error
        if (!isLost) await writeLine(terminal.stderr, `${error.message} It is asked again.`)
        isLost = true
      }
    }
  } finally {
    process.removeListener('SIGINT', interrupt)
  }
}

/** Knows which records were written. It also compares their requests, because a restored database may give ids again. */
class Followed {
  database: string | undefined
  readonly #show: (record: AuditRecord) => Promise<void>
  readonly #idByKey = new Map<string, number>()
  #oldest = 0

  constructor(show: (record: AuditRecord) => Promise<void>) {
    this.#show = show
  }

  /** The next request asks for records with a higher id than this. */
  get from(): number {
    return Math.max(this.#oldest, Math.max(0, ...this.#idByKey.values()) - OVERLAP_IDS)
  }

  /** Begins with these records of a database, the newest first. Writes those that were not written before. */
  async begin({ database, records }: Pick<AuditList, 'database' | 'records'>): Promise<void> {
    this.database = database
    this.#oldest = records.at(-1)?.id ?? 0
    const keys = new Set(records.map(keyOf))
    for (const key of this.#idByKey.keys()) if (!keys.has(key)) this.#idByKey.delete(key)
    await this.write(records)
  }

  async write(records: readonly AuditRecord[]): Promise<void> {
    for (const record of records.toReversed()) {
      if (this.#idByKey.has(keyOf(record))) continue
      await this.#show(record)
      this.#idByKey.set(keyOf(record), record.id)
    }
    const byAge = [...this.#idByKey].sort(([, one], [, other]) => one - other)
    for (const [key] of byAge.slice(0, -PAGE)) this.#idByKey.delete(key)
  }
}

const keyOf = ({ id, time, request_id: request }: AuditRecord) => `${id} ${time} ${request}`

/** All records with a higher id, the newest first. */
async function newerThan(client: Client, filter: Filter, id: number): Promise<Pick<AuditList, 'database' | 'records'>> {
  const newer: AuditRecord[] = []
  for (;;) {
    const before = newer.at(-1)?.id
    const { database, records } = await client.listAudit({ ...filter, records: PAGE, before })
    const fresh = records.filter((record) => record.id > id)
    newer.push(...fresh)
    if (fresh.length < records.length || records.length < PAGE) return { database, records: newer }
  }
}

function lineOf({ time, user, address, action, object, status, detail }: AuditRecord): string {
  const on = [object.kind, object.id, object.name].filter((part) => part !== null).join(' ')
  const parts = [localTime(time), user ?? '-', address, action, on, status ?? '-', detail ?? '']
  return printable(parts.join('  ')).trimEnd()
}
