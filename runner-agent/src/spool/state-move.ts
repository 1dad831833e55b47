import { existsSync } from 'node:fs'
import { lstat, readdir, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '@holdfast/host/durable'
import { isErrno, unlessMissing } from '@holdfast/host/system-errors'
import type { LockProgram } from '../host/kernel-lock.js'
import { describeError, type Logger } from '../log.js'
import { KEEP_ALL } from './kept-runs.js'
import { openSpool } from './spool.js'
import { holdStateFolder } from './state-lock.js'

/** The state folder cannot be moved. The message says why, and what to do. Nothing was changed. */
class MoveRefusedError extends Error {
  override readonly name = 'MoveRefusedError'
}

/** From where to where, as absolute paths. */
export interface Move {
  readonly from: string
  readonly to: string
}

/**
 * Moves the state folder of an agent that is stopped, on its file system. Ansible knows its files by their paths. So
 * nothing is moved before all jobs have ended.
 * @throws StateInUseError while the agent runs; MoveRefusedError
 */
export async function moveStateFolder(move: Move, program: LockProgram, log: Logger): Promise<void> {
  await requirePlaces(move)
  const lock = await holdStateFolder(move.from, program)
  try {
    await requireEndedJobs(move.from, log)
    await requireOneDisk(move.from)
    await renameFolder(move)
  } finally {
    lock.close()
  }
}

async function requirePlaces({ from, to }: Move): Promise<void> {
  const found = await unlessMissing(lstat(from), null)
  if (found === null) throw new MoveRefusedError(`there is no state folder ${from}: name it with --rte-state-path`)
  if (found.isSymbolicLink()) {
    throw new MoveRefusedError(`${from} is a link: name the folder itself with --rte-state-path`)
  }
  if (!existsSync(join(from, 'generations'))) {
    throw new MoveRefusedError(`no agent has ever worked in ${from}: name its state folder with --rte-state-path`)
  }
  if ((await unlessMissing(lstat(to), null)) !== null) {
    throw new MoveRefusedError(`${to} is there already: name a path that does not exist yet`)
  }
  if (`${to}/`.startsWith(`${from}/`)) throw new MoveRefusedError(`${to} lies in the state folder itself`)
  if ((await unlessMissing(stat(dirname(to)), null))?.isDirectory() !== true) {
    throw new MoveRefusedError(`there is no folder ${dirname(to)}: make it first, then move the state folder into it`)
  }
}

async function requireEndedJobs(from: string, log: Logger): Promise<void> {
  const jobs = await openSpool(from, { kept: KEEP_ALL, secondPlaces: [] }, log)
    .list()
    .catch((error: unknown) => {
      throw new MoveRefusedError(`the spool cannot be read: ${describeError(error)}`)
    })
  const numbers = jobs.filter((folder) => folder.end().kind !== 'present').map(({ key }) => key.jobId)
  if (numbers.length === 0) return
  const words = numbers.length === 1 ? `job ${numbers.join()} has` : `the jobs ${numbers.join(', ')} have`
  throw new MoveRefusedError(`${words} not ended. Start the agent, wait until they have ended, stop it and try again`)
}

/** A disk that is mounted in the folder would be mounted at the old path again after a reboot. */
async function requireOneDisk(from: string): Promise<void> {
  const { dev } = await stat(from)
  for (const name of await readdir(from)) {
    const path = join(from, name)
    if ((await lstat(path)).dev === dev) continue
    throw new MoveRefusedError(`${path} is another disk: unmount it, move the folder, and mount it at the new path`)
  }
}

async function renameFolder({ from, to }: Move): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    throw new MoveRefusedError(refusalOf(error, { from, to }))
  }
  for (const folder of new Set([dirname(from), dirname(to)])) await syncFolder(folder)
}

function refusalOf(error: unknown, { from, to }: Move): string {
  if (isErrno(error, 'EXDEV')) {
    return (
      `${to} is on another disk. Copy the folder: cp -a ${from} ${to}. Start the agent with RTE_STATE_PATH=${to}, ` +
      `and then remove ${from}. Never start an agent on both`
    )
  }
  if (isErrno(error, 'EBUSY')) return `${from} is a disk of its own: mount it at ${to} instead`
  if (isErrno(error, 'EACCES', 'EPERM')) {
    return `this user may not move ${from} to ${to}: run it as root (${describeError(error)})`
  }
  return `${from} cannot be moved to ${to}: ${describeError(error)}`
}
