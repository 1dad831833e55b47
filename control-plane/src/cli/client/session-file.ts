import { randomUUID } from 'node:crypto'
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { writeDurably } from '@holdfast/host/durable'
import { isErrno, unlessMissing } from '@holdfast/host/system-errors'
import * as v from 'valibot'
import { CliError } from '../errors.js'
import { EXIT } from '../exit-codes.js'

const savedSessionSchema = v.object({
  server: v.string(),
  username: v.string(),
  token: v.string(),
  refreshtoken: v.string(),
})

/** The one sign-in that the client remembers. */
export type SavedSession = v.InferOutput<typeof savedSessionSchema>

/**
 * A lock that is older than this was left behind by a process that ended, in milliseconds. A process makes one request while
 * it has the lock.
 */
const STALE_LOCK_MS = 90_000
/** How often a process looks whether the lock is free, in milliseconds. */
const LOCK_LOOK_MS = 25

/** The file with the saved session of this user. */
export interface SessionFile {
  readonly path: string
  /** Null: there is no session, or the file cannot be understood. */
  read(): Promise<SavedSession | null>
  /** Replaces the file in one step: a reader sees the old or the new session, never half of one. */
  write(session: SavedSession): Promise<void>
  remove(): Promise<void>
  /** Runs the action while no other process runs one. This is needed because a refresh token works only once. */
  exclusively<T>(action: () => Promise<T>): Promise<T>
}

/** The session file of this user: `$XDG_CONFIG_HOME/holdfast/session.json`, or below `~/.config`. */
export function sessionFile(environment: NodeJS.ProcessEnv): SessionFile {
  const configured = environment.XDG_CONFIG_HOME
  const base = configured && isAbsolute(configured) ? configured : join(homedir(), '.config')
  const path = join(base, 'holdfast', 'session.json')
  return {
    path,
    read: () => readSession(path),
    write: (session) => writeSession(path, session),
    remove: () => rm(path, { force: true }),
    async exclusively(action) {
      const giveBack = await takeLock(`${path}.locked`)
      try {
        return await action()
      } finally {
        await giveBack()
      }
    },
  }
}

async function readSession(path: string): Promise<SavedSession | null> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw new CliError(EXIT.unexpected, `Cannot read ${path}: ${(error as Error).message}`, { cause: error })
  }
  try {
    return v.parse(savedSessionSchema, JSON.parse(text))
  } catch {
    // The file is damaged or of another version. The next sign-in writes a good one.
    return null
  }
}

async function writeSession(path: string, session: SavedSession): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeDurably(path, `${JSON.stringify(session, null, 2)}\n`, `${path}.${process.pid}.new`)
}

/**
 * A lock is a folder with one file, which has the random name of its holder. It is made elsewhere and renamed: this works
 * only where no folder is, or an empty one. So one process gets it. Whoever gives the lock back, and whoever finds it too
 * old, removes the file of that holder, and never the lock of the next one.
 */
async function takeLock(lock: string): Promise<() => Promise<void>> {
  await mkdir(dirname(lock), { recursive: true, mode: 0o700 })
  const holder = randomUUID()
  while (!((await isFree(lock)) && (await hasTaken(lock, holder)))) await delay(LOCK_LOOK_MS)
  return () => rm(join(lock, holder), { force: true })
}

/** Whether nobody holds the lock. A holder that ended is removed. */
async function isFree(lock: string): Promise<boolean> {
  const [holder] = await unlessMissing(readdir(lock), [])
  if (holder === undefined) return true
  const path = join(lock, holder)
  const since = await unlessMissing(
    stat(path).then(({ mtimeMs }) => mtimeMs),
    0,
  )
  if (Date.now() - since <= STALE_LOCK_MS) return false
  await rm(path, { force: true })
  return true
}

/** Tries to take the lock. @returns false: somebody else was quicker */
async function hasTaken(lock: string, holder: string): Promise<boolean> {
  const own = `${lock}.${holder}`
  await mkdir(own, { mode: 0o700 })
  try {
    await writeFile(join(own, holder), '', { mode: 0o600 })
    await rename(own, lock)
    return true
  } catch (error) {
    await rm(own, { recursive: true, force: true })
    if (isErrno(error, 'ENOTEMPTY', 'EEXIST')) return false
    throw error
  }
}
