import { parseJson } from '@holdfast/protocol'
import { spawn } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import * as v from 'valibot'
import { isErrno } from '@holdfast/host/system-errors'

/** The program that asks the kernel (`ansible/locks.py`), and the Python that runs it. */
export interface LockProgram {
  readonly python: string
  readonly script: string
}

/** A lock on the state folder that the kernel takes back when this process ends, however it ends. */
export interface KernelLock {
  /** What the locks of this file system do not cover, as a sentence; null when all is well. */
  readonly doubt: string | null
  /** Gives the lock up. */
  close(): void
}

/** Longest wait for an answer. A local kernel answers at once; the lock server of a network file system may be away. */
const ANSWER_MS = 20_000

const wordsSchema = v.array(v.string())

/** Errors that mean: this file system has no locks at all. */
const NO_LOCKS: readonly string[] = ['ENOLCK', 'ENOSYS', 'EOPNOTSUPP', 'ENOTSUP', 'EINVAL', 'EBADF']

/**
 * Locks the state folder for the life of this process, against every other process that uses the same folder, in
 * whatever container or PID namespace, and on a network file system with locks on whatever host.
 *
 * Two things are locked. The folder itself can be locked on a disk that is full or read-only, too, but only within one
 * host. The file `lock` in it also counts between hosts. The descriptors close when another program is started: no
 * supervisor and no playbook ever has them, or the lock would outlive the agent.
 * @returns `held` when another process has it
 * @throws Error when it cannot be found out
 */
export async function takeKernelLock(statePath: string, program: LockProgram): Promise<KernelLock | 'held'> {
  const folder = openSync(statePath, constants.O_RDONLY | constants.O_DIRECTORY)
  const descriptors = [folder]
  const close = (): void => {
    for (const descriptor of descriptors.splice(0)) closeSync(descriptor)
  }
  try {
    const file = openLockFile(join(statePath, 'lock'))
    if (file !== null) descriptors.push(file)
    const words = await askKernel(program, ['take', String(descriptors.length)], descriptors)
    if (words.includes('held')) {
      close()
      return 'held'
    }
    const strange = words.find((word) => word !== 'taken' && !NO_LOCKS.includes(word))
    if (strange !== undefined) throw new Error(`the state folder ${statePath} cannot be locked: ${strange}`)
    return { doubt: doubtOf(words), close }
  } catch (error) {
    close()
    throw error
  }
}

function doubtOf([ofFolder, ofFile]: readonly string[]): string | null {
  if (ofFolder !== 'taken' && ofFile !== 'taken')
    return 'the file system of the state folder has no locks: a second agent in another container is not noticed'
  // The file is absent where the disk did not take it. Then only the lock of the folder counts, within this host.
  if (ofFile !== undefined && ofFile !== 'taken')
    return 'the file system of the state folder has no locks for files: a second agent on another host is not noticed'
  return null
}

/** @returns null when it does not exist and cannot be made (a full or read-only disk) */
function openLockFile(path: string): number | null {
  try {
    return openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  } catch (error) {
    if (!isErrno(error, 'EROFS', 'ENOSPC', 'EDQUOT', 'EACCES', 'EPERM', 'EIO')) throw error
  }
  try {
    return openSync(path, constants.O_RDONLY)
  } catch {
    return null
  }
}

/**
 * Asks whether a process holds a lock on each of these files, in whatever PID namespace that process is.
 * @returns a word for each path: `held`, `free`, or the name of an error, which says nothing of the lock
 * @throws Error when the program cannot be run
 */
export async function lookAtLocks(program: LockProgram, paths: readonly string[]): Promise<readonly string[]> {
  const words = await askKernel(program, ['test'], [], JSON.stringify(paths))
  if (words.length !== paths.length) throw new Error('the program that looks at locks answered for other files')
  return words
}

/** Uses `spawn` itself, because execa cannot pass an open file on to a program. */
async function askKernel(
  program: LockProgram,
  command: readonly string[],
  descriptors: readonly number[],
  input = '',
): Promise<readonly string[]> {
  const child = spawn(program.python, ['-I', '-S', program.script, ...command], {
    stdio: ['pipe', 'pipe', 'pipe', ...descriptors],
    cwd: '/',
    env: {},
    timeout: ANSWER_MS,
    killSignal: 'SIGKILL',
  })
  // A program that has ended already cannot read its input. Its exit code says how it went.
  child.stdin?.on('error', () => undefined).end(input)
  const [code, said, complained] = await Promise.all([
    new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve)),
    textOf(child.stdout),
    textOf(child.stderr),
  ])
  if (code !== 0)
    throw new Error(`the kernel could not be asked for locks: ${complained.trim() || `no answer (${code})`}`)
  return parseJson(wordsSchema, said)
}

async function textOf(stream: Readable | null): Promise<string> {
  return stream === null ? '' : text(stream)
}
