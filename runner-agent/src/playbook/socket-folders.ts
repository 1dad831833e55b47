import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, mkdtempSync } from 'node:fs'
import { rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from '../log.js'

/**
 * Folders for the sockets of connections that ansible keeps open (ControlPersist of ssh, network devices). By ansible's
 * own default all playbooks of a user share one. A job could then use the connection of another one, which was opened
 * with another key, and would lose its connection when the other job ends.
 */
export type SocketFolders = ReturnType<typeof openSocketFolders>

/**
 * Most bytes of a path that every job's folder begins with. A socket has at most 107 (Linux, unix(7)), and to this comes
 * `/<12 of the run id>/<10 by ansible>.<16 by ssh>`.
 */
const MAX_ROOT_BYTES = 107 - 13 - 11 - 17
const RUN_ID_PART = 12

/** The folders lie below the state folder, or below the one for temporary files when that path is too long for sockets. */
export function openSocketFolders(statePath: string, log: Logger) {
  const own = join(statePath, 'sockets')
  const isOwnShort = Buffer.byteLength(own) <= MAX_ROOT_BYTES
  const root = isOwnShort ? own : join(tmpdir(), `holdfast-${hashOf(statePath)}`)
  const path = (runId: string): string => join(root, runId.slice(0, RUN_ID_PART))
  return {
    /**
     * The folder of one job, which is made when it is not there.
     * @throws the system's error
     */
    folderOf(runId: string): string {
      mkdirSync(root, { recursive: true, mode: 0o700 })
      if (!isPrivate(root)) return mkdtempSync(join(tmpdir(), 'holdfast-'))
      mkdirSync(path(runId), { recursive: true, mode: 0o700 })
      return path(runId)
    },
    /** Removes the folder of a job that is over. */
    async remove(runId: string): Promise<void> {
      await rm(path(runId), { recursive: true, force: true }).catch((error: unknown) => {
        log.warn({ folder: path(runId), error }, 'cannot remove the folder for sockets of a job')
      })
      // The folder above is removed, too, so that nothing is left outside of the state folder. It stays while other jobs use it.
      if (!isOwnShort) await rmdir(root).catch(() => undefined)
    },
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, RUN_ID_PART)
}

/** False for a folder of that name that belongs to somebody else. */
function isPrivate(path: string): boolean {
  const found = lstatSync(path)
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0
}
