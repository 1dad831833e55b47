import { existsSync, readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Product } from '../support/product.js'
import type { Figures } from './growth.js'
import { liveHeapOf } from './inspect.js'

/** A break in which what was asked last comes to its end; longer than what is left alone is read on for. */
const SETTLE_MS = 100
const MAX_LOOKS = 100

/** What the control plane takes now. Its open descriptors are waited for until they do not get fewer any more. */
export async function readFigures(product: Product): Promise<Figures> {
  const { pid } = product.controlPlane
  const heap = await liveHeapOf(pid, product.controlPlane.said)
  let descriptors = descriptorsOf(pid)
  for (let looks = 0, same = 0; looks < MAX_LOOKS && same < 10; looks += 1) {
    await pause(SETTLE_MS)
    const now = descriptorsOf(pid)
    same = now.length < descriptors.length ? 0 : same + 1
    if (now.length < descriptors.length) descriptors = now
  }
  const persistent = join(product.folder, 'persistent')
  return {
    memory: Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024,
    heap,
    descriptors: descriptors.length,
    sockets: descriptors.filter((target) => target.startsWith('socket:')).length,
    database: ['holdfast.db', 'holdfast.db-wal']
      .map((name) => join(persistent, name))
      .reduce((sum, path) => sum + (existsSync(path) ? statSync(path).size : 0), 0),
    uploads: filesBelow(join(persistent, 'uploads')),
  }
}

function descriptorsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${name}`)]
    } catch {
      // It was closed meanwhile.
      return []
    }
  })
}

function filesBelow(folder: string): number {
  if (!existsSync(folder)) return 0
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length
}
