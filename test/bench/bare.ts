import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { cleanEnvironment } from '../support/process.js'
import { cpuSeconds } from './cpu.js'

export interface BareRun {
  readonly wallSeconds: number
  readonly cpuSeconds: number
}

/** Runs a program as a user would at a prompt, its output going to a file, and measures it with all its children. */
export async function runBare(
  program: string,
  args: readonly string[],
  cwd: string,
  outputPath: string,
): Promise<BareRun> {
  const output = openSync(outputPath, 'w')
  try {
    const cpuBefore = cpuSeconds('self')
    const ownBefore = process.cpuUsage()
    const start = performance.now()
    const child = spawn(program, args, { cwd, stdio: ['ignore', output, output], env: cleanEnvironment({}) })
    const [code] = (await once(child, 'exit')) as [number | null]
    const wallSeconds = (performance.now() - start) / 1000
    const own = process.cpuUsage(ownBefore)
    if (code !== 0) throw new Error(`${program} ended with ${code}, see ${outputPath}`)
    return { wallSeconds, cpuSeconds: cpuSeconds('self') - cpuBefore - (own.user + own.system) / 1e6 }
  } finally {
    closeSync(output)
  }
}
