import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import type { Environments } from '../../../support/product.js'

const SOURCE = fileURLToPath(new URL('./faults.c', import.meta.url))

/** The kinds of calls that can be faulted (faults.c says which calls are of which kind). */
export const OPERATIONS = [
  'open',
  'read',
  'write',
  'sync',
  'stat',
  'readdir',
  'rename',
  'link',
  'unlink',
  'mkdir',
  'truncate',
  'lock',
  'map',
] as const
export type Operation = (typeof OPERATIONS)[number]

/** The errors that a call can be answered with. */
export type FaultCode =
  | 'EACCES'
  | 'EAGAIN'
  | 'EBUSY'
  | 'EDQUOT'
  | 'EEXIST'
  | 'EINTR'
  | 'EIO'
  | 'EMFILE'
  | 'ENFILE'
  | 'ENOENT'
  | 'ENOLCK'
  | 'ENOMEM'
  | 'ENOSPC'
  | 'ENOTCONN'
  | 'EPERM'
  | 'EROFS'
  | 'ESTALE'
  | 'ETIMEDOUT'

/** A fault for one call, or for some or every such call, of an unmodified program (faults.c says how). */
export interface FaultRule {
  /** `open-write`: only opening for writing, which `open` is as well. */
  readonly operation: Operation | 'open-write' | 'any'
  /** Part of the program's command line; without it any program. */
  readonly program?: string
  /** Pattern of the whole path; `*` takes slashes too. The new path of a rename. */
  readonly path: string
  /** `none` only counts. */
  readonly action: 'kill-before' | 'kill-after' | 'stop-before' | 'stop-after' | 'short' | 'none' | FaultCode
  /** True: the first call that meets the rule uses it up. */
  readonly once?: boolean
  /** Only these calls, counted from 1 over all processes; without `count` one, `Infinity` until it is disarmed. */
  readonly calls?: { readonly first: number; readonly count?: number }
  /** Only this share of the calls, from 0 to 1; which ones the seed decides. */
  readonly chance?: { readonly share: number; readonly seed: number }
}

/** The parts of command lines by which programs of the product are known. */
export const PROGRAMS = {
  agent: 'holdfast-runner',
  controlPlane: 'holdfast.js',
  supervisor: 'supervisor.py',
} as const

/** A rule that is in force. */
export interface ArmedFault {
  /** True when a call has met the rule. */
  wasMet(): boolean
  /** What the rule has seen so far; after `disarm` what it saw until then. */
  tally(): Tally
  disarm(): void
}

/** What a rule has seen. */
export interface Tally {
  /** Calls of its kind at its path. */
  readonly calls: number
  /** Those of them that it acted on. */
  readonly met: number
  /** The last of these: operation and path; empty when there was none. */
  readonly last: string
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
  const armed = new Set<ArmedFault>()
  mkdirSync(rules)
  for (const path of Object.values(clocks)) writeFileSync(path, Buffer.alloc(8))
  const environmentOf = (owner: ClockOwner) => ({
    LD_PRELOAD: library,
    CHAOS_RULES: rules,
    CHAOS_CLOCK: clocks[owner],
  })
  // Programs of playbooks meet faults, too.
  const agent = { ...environmentOf('runner'), RTE_PASS_ENVIRONMENT: 'LD_PRELOAD CHAOS_*' }
  return {
    environments: { controlPlane: environmentOf('control plane'), agent },
    arm(rule) {
      const fault = armIn(rules, rule)
      armed.add(fault)
      const disarm = (): void => {
        fault.disarm()
        armed.delete(fault)
      }
      return { ...fault, disarm }
    },
    disarmAll() {
      for (const fault of armed) fault.disarm()
      armed.clear()
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

const TALLY_BYTES = 496
const COUNTS_BYTES = 16
/** More calls than any test makes. */
const ALL_CALLS = 2 ** 40
const A_MILLION = 1_000_000

function armIn(rules: string, rule: FaultRule): ArmedFault {
  const name = randomUUID()
  const [file, fresh, tallyFile] = [join(rules, name), join(rules, `.${name}`), join(rules, `.${name}.tally`)]
  writeFileSync(tallyFile, Buffer.alloc(TALLY_BYTES))
  const { operation, program = '-', path, action } = rule
  writeFileSync(fresh, `${whenOf(rule)} ${operation} ${program} ${path} ${action}\n`)
  renameSync(fresh, file)
  let atLast: Tally | null = null
  const tally = (): Tally => atLast ?? readTally(tallyFile)
  return {
    tally,
    wasMet: () => tally().met > 0,
    disarm() {
      rmSync(file, { force: true })
      atLast ??= readTally(tallyFile)
      rmSync(tallyFile, { force: true })
    },
  }
}

function whenOf({ once = false, calls, chance }: FaultRule): string {
  if (once) return 'once'
  if (calls) return `calls:${calls.first}:${Math.min(calls.count ?? 1, ALL_CALLS)}`
  if (chance) return `chance:${Math.round(chance.share * A_MILLION)}:${chance.seed}`
  return 'always'
}

/** The numbers as the machine writes them; no test runs on one that puts the highest byte first. */
function readTally(file: string): Tally {
  if (!existsSync(file)) return { calls: 0, met: 0, last: '' }
  const bytes = readFileSync(file)
  const [last = ''] = bytes.toString('latin1', COUNTS_BYTES).split('\0')
  return { calls: Number(bytes.readBigUInt64LE(0)), met: Number(bytes.readBigUInt64LE(8)), last }
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
