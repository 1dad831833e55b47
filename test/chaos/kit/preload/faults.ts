import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import type { Environments } from '../../../support/product.js'

const SOURCE = fileURLToPath(new URL('./faults.c', import.meta.url))

/** A fault for one call, or for every such call, of an unmodified program (faults.c says how). */
export interface FaultRule {
  readonly operation: 'write' | 'sync' | 'rename' | 'link' | 'unlink' | 'open'
  /** Part of the program's command line; without it any program. */
  readonly program?: string
  /** Pattern of the whole path; `*` takes slashes too. The new path of a rename. */
  readonly path: string
  readonly action:
    'kill-before' | 'kill-after' | 'stop-before' | 'stop-after' | 'short' | 'ENOSPC' | 'EIO' | 'EDQUOT' | 'EROFS'
  /** True: the first call that meets the rule uses it up. */
  readonly once: boolean
}

/** The parts of command lines by which programs of the product are known. */
export const PROGRAMS = {
  agent: 'holdfast-runner',
  controlPlane: 'holdfast.js',
  supervisor: 'supervisor.py',
} as const

/** A rule that is in force. */
export interface ArmedFault {
  /** True when a rule that says `once` was met. */
  wasMet(): boolean
  disarm(): void
}

/** Whose clock is moved. The runner's is that of its agent, the supervisors and ansible. */
export type ClockOwner = 'runner' | 'control plane'

/** Faults of files and of the clocks for the programs that are started with one of `environments`. */
export interface Faults {
  readonly environments: Environments
  arm(rule: FaultRule): ArmedFault
  disarmAll(): void
  /** Moves the wall clock away from the machine's, at once; without an owner that of all programs. */
  moveClock(seconds: number, owner?: ClockOwner): void
}

/** @param folder an existing folder for the rules and the clock */
export async function createFaults(folder: string): Promise<Faults> {
  const library = await buildLibrary()
  const rules = join(folder, 'chaos-rules')
  const clocks = { runner: join(folder, 'chaos-clock-runner'), 'control plane': join(folder, 'chaos-clock') }
  mkdirSync(rules)
  for (const path of Object.values(clocks)) writeFileSync(path, Buffer.alloc(8))
  const environmentOf = (owner: ClockOwner) => ({
    LD_PRELOAD: library,
    CHAOS_RULES: rules,
    CHAOS_CLOCK: clocks[owner],
  })
  return {
    environments: { controlPlane: environmentOf('control plane'), agent: environmentOf('runner') },
    arm({ operation, program = '-', path, action, once }) {
      const name = randomUUID()
      const file = join(rules, name)
      writeFileSync(join(rules, `.${name}`), `${once ? 'once' : 'always'} ${operation} ${program} ${path} ${action}\n`)
      renameSync(join(rules, `.${name}`), file)
      return { wasMet: () => !existsSync(file), disarm: () => rmSync(file, { force: true }) }
    },
    disarmAll() {
      for (const name of readdirSync(rules)) rmSync(join(rules, name), { force: true })
    },
    moveClock(seconds, owner) {
      const nanoseconds = Buffer.alloc(8)
      nanoseconds.writeBigInt64LE(BigInt(Math.round(seconds * 1000)) * 1_000_000n)
      // In place: the programs have mapped this very file.
      for (const path of owner ? [clocks[owner]] : Object.values(clocks)) {
        writeFileSync(path, nanoseconds, { flag: 'r+' })
      }
    },
  }
}

/** Compiles the library once for each version of its source; whoever comes second finds it. */
async function buildLibrary(): Promise<string> {
  const version = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16)
  const folder = join(tmpdir(), `holdfast-chaos-${userInfo().uid}`)
  const library = join(folder, `faults-${version}.so`)
  if (existsSync(library)) return library
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const fresh = `${library}.${randomUUID()}`
  await execa('cc', ['-O2', '-shared', '-fPIC', '-o', fresh, SOURCE, '-ldl', '-pthread'])
  renameSync(fresh, library)
  return library
}
