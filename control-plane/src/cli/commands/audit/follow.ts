import { setTimeout as delay } from 'node:timers/promises'
import { type AuditRecord, type Client, writeJson } from '@holdfast/client'
import { InterruptedError, isPassing } from '../../errors.js'
import { printable } from '../../show/printable.js'
import { localTime } from '../../show/time.js'
import { type Terminal, writeLine } from '../../terminal.js'

/** How often new records are asked for, in milliseconds. */
const ASK_EVERY_MS = 1000
const PAGE = 1000

/** Of several control planes one may store a record a little later than another one that has a higher id. */
const OVERLAP_IDS = 200

type Filter = NonNullable<Parameters<Client['listAudit']>[0]>

/**
 * Writes records of the audit trail, the oldest first, and then each new one, until Ctrl-C. While the control plane
 * is away it is asked again. No record comes twice.
 * @param first the records to begin with, the newest first
 */
export async function followAudit(
  client: Client,
  terminal: Terminal,
  filter: Filter,
  first: readonly AuditRecord[],
  json: boolean,
): Promise<never> {
  const stop = new AbortController()
  const interrupt = (): void => stop.abort(new InterruptedError('Stopped following the audit trail.'))
  process.once('SIGINT', interrupt)
  try {
    const seen = new Set<number>()
    const oldest = first.at(-1)?.id ?? 0
    await write(first, seen)
    let isLost = false
    for (;;) {
      await delay(ASK_EVERY_MS, undefined, { signal: stop.signal }).catch(() => stop.signal.throwIfAborted())
      try {
        const newest = Math.max(0, ...seen)
        await write(await newerThan(client, filter, Math.max(oldest, newest - OVERLAP_IDS)), seen)
        isLost = false
      } catch (error) {
        if (!isPassing(error)) throw error
        if (!isLost) await writeLine(terminal.stderr, `${error.message} It is asked again.`)
        isLost = true
      }
    }
  } finally {
    process.removeListener('SIGINT', interrupt)
  }

  async function write(records: readonly AuditRecord[], seen: Set<number>): Promise<void> {
    for (const record of records.toReversed()) {
      if (seen.has(record.id)) continue
      await writeLine(terminal.stdout, json ? writeJson(record) : lineOf(record))
      seen.add(record.id)
    }
    for (const id of [...seen].sort((one, other) => one - other).slice(0, -PAGE)) seen.delete(id)
  }
}

/** All records with a higher id, the newest first. */
async function newerThan(client: Client, filter: Filter, id: number): Promise<AuditRecord[]> {
  const newer: AuditRecord[] = []
  for (;;) {
    const before = newer.at(-1)?.id
    const { records } = await client.listAudit({
      ...filter,
      records: PAGE,
      ...(before === undefined ? {} : { before }),
    })
    const fresh = records.filter((record) => record.id > id)
    newer.push(...fresh)
    if (fresh.length < records.length || records.length < PAGE) return newer
  }
}

function lineOf({ time, user, address, action, object, status, detail }: AuditRecord): string {
  const on = [object.kind, object.id, object.name].filter((part) => part !== null).join(' ')
  const parts = [localTime(time), user ?? '-', address, action, on, status ?? '-', detail ?? '']
  return printable(parts.join('  ')).trimEnd()
}
