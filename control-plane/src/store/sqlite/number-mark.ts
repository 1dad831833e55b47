import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isErrno } from '@holdfast/host/system-errors'
import { sql } from 'kysely'
import * as v from 'valibot'
import { messageOf } from '../../errors.js'
import type { Timers } from '../../time/timers.js'
import { knownDatabaseId, renewDatabaseId } from '../database-id.js'
import type { RawStore } from '../store.js'

/** How often it is looked whether numbers were given, in milliseconds. */
const LOOK_MS = 1000

/** The mark is written over itself, always with as many bytes: no crash leaves a part of another one behind it. */
const BYTES = 4096

/** The highest number that each table has ever given. */
type Numbers = Readonly<Record<string, number>>

const Mark = v.object({ database: v.string(), numbers: v.record(v.string(), v.number()) })

/**
 * Notices that a database file was put back by hand to an earlier state, and then gives the database a new id.
 *
 * A small file beside the database (`-mark`) has the id of the database and the highest numbers that it gave. It is
 * written after the numbers are stored, so it is never ahead of the database:
 *
 *   the mark is behind or equal → the database goes on as it was left
 *   the mark is ahead, is of another database, is missing, or was itself put there → a new id
 *
 * A program that writes a file gives both its times the same moment. Whoever copies it with its time of change (`cp -a`,
 * `rsync`, `tar`) cannot set the other one. So a folder that was put back whole is noticed, too. A new id that was not
 * needed does no harm: whoever follows something begins again.
 * @param path of the database, on which nobody else works
 */
export async function keepNumberMark(
  path: string,
  store: RawStore,
  { timers, warn, now }: { readonly timers: Timers; readonly warn: (text: string) => void; readonly now: () => number },
) {
  const markPath = `${path}-mark`
  let written = ''
  const stored = async (): Promise<v.InferOutput<typeof Mark>> => ({
    database: (await knownDatabaseId(store.read)) ?? '',
    numbers: await givenNumbers(store),
  })
  const write = async (isLast = false): Promise<void> => {
    const text = JSON.stringify(await stored())
    if (text === written && !isLast) return
    await writeMark(markPath, text)
    written = text
  }
  // A disk that is full keeps the mark behind the database, which is safe. Said once, for an operator.
  let hasFailed = false
  const attempt = async (isLast?: boolean): Promise<void> => {
    await write(isLast).catch((error: unknown) => {
      if (!hasFailed) warn(`${markPath} cannot be written: ${messageOf(error)}`)
      hasFailed = true
    })
  }

  const { database, numbers } = await stored()
  const reason = await whyTakenBack(markPath, database, numbers)
  if (database === '') await renewDatabaseId(store, null, null)
  else if (reason !== null) await renewDatabaseId(store, database, { reason, time: now() })
  if (database !== '' && reason !== null) {
    warn(`${reason}, so the database gets a new id: whoever follows jobs or the audit trail begins again`)
  }
  await attempt()
  let looking: Promise<void> | null = null
  const end = timers.every(LOOK_MS, () => {
    looking ??= attempt().finally(() => (looking = null))
  })
  return {
    /** Writes it a last time. Nobody may give numbers any more. */
    async close(): Promise<void> {
      end()
      await looking
      await attempt(true)
    },
  }
}

/** Null: the database is as this mark left it, or newer. A mark that cannot be read tells nothing, and that is a reason. */
async function whyTakenBack(markPath: string, database: string, numbers: Numbers): Promise<string | null> {
  let text: string
  try {
    const file = await open(markPath, 'r')
    try {
      const { mtimeNs, ctimeNs } = await file.stat({ bigint: true })
      if (mtimeNs !== ctimeNs) return `${markPath} was put there or changed by somebody else`
      text = await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return `${markPath} is not there`
    return `${markPath} cannot be read: ${messageOf(error)}`
  }
  const mark = v.safeParse(v.pipe(v.string(), v.parseJson(), Mark), text)
  if (!mark.success) return `${markPath} is damaged`
  if (mark.output.database !== database) return `${markPath} belongs to another database`
  const ahead = Object.entries(mark.output.numbers).find(([table, number]) => number > (numbers[table] ?? 0))
  return ahead ? `The database was put back to an earlier state: ${ahead[0]} ${ahead[1]} is not in it` : null
}

async function writeMark(markPath: string, text: string): Promise<void> {
  // Without O_TRUNC: when the write fails, the mark from before is still there.
  const file = await open(markPath, constants.O_WRONLY | constants.O_CREAT, 0o600)
  try {
    await file.write(Buffer.from(text.padEnd(BYTES)), 0, undefined, 0)
  } finally {
    await file.close()
  }
}

async function givenNumbers(store: RawStore): Promise<Numbers> {
  const { rows } = await sql<{
    name: string
    seq: number
  }>`select name, seq from sqlite_sequence order by name`.execute(store.read)
  return Object.fromEntries(rows.map(({ name, seq }) => [name, seq]))
}
