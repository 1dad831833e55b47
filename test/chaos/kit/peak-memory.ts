import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { Product } from '../../support/product.js'

/** What each program may have in memory at most, in megabytes, whatever jobs print and however many read it. */
const MAX_MEMORY_MB = { agent: 250, controlPlane: 400 } as const

/** The most memory that a living process has had so far, in megabytes (VmHWM). */
function peakMemoryOf(pid: number): number {
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
  if (kibibytes === undefined) throw new Error(`process ${pid} does not say how much memory it has had`)
  return Math.round(Number(kibibytes) / 1024)
}

/** Both programs have stayed within their bounds since their start. Prints what they had. */
export function expectBoundedMemory(product: Product, what: string): void {
  const agent = peakMemoryOf(product.agent.pid)
  const controlPlane = peakMemoryOf(product.controlPlane.pid)
  process.stdout.write(`peak memory, ${what}: agent ${agent} MB, control plane ${controlPlane} MB\n`)
  expect(agent, 'the agent, MB').toBeLessThanOrEqual(MAX_MEMORY_MB.agent)
  expect(controlPlane, 'the control plane, MB').toBeLessThanOrEqual(MAX_MEMORY_MB.controlPlane)
}
