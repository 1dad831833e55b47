import { type FaultCode, type FaultRule, OPERATIONS, type Operation, PROGRAMS } from '../kit/preload/faults.js'
import type { Chance } from '../kit/seed.js'

/** Whose calls fail. */
export type Victim = keyof typeof PROGRAMS

/** What happens to the job beside the fault: nothing, or a program is killed at its gate and started again. */
export type Scene = 'plain' | 'agent restarted' | 'control plane restarted'

/** Which calls of which program are counted and failed while a job goes through a scene. */
export interface Field {
  readonly scene: Scene
  readonly victim: Victim
  readonly path: string
}

const SPOOL = '*/rte-state/*'
const DATABASE = '*/holdfast.db*'

export const FIELDS: readonly Field[] = [
  { scene: 'plain', victim: 'agent', path: SPOOL },
  { scene: 'plain', victim: 'supervisor', path: SPOOL },
  { scene: 'plain', victim: 'controlPlane', path: DATABASE },
  { scene: 'agent restarted', victim: 'agent', path: SPOOL },
  { scene: 'control plane restarted', victim: 'controlPlane', path: DATABASE },
]

/** One call that fails: the n-th of its kind, and how. */
export interface FaultPoint extends Field {
  readonly operation: Operation
  /** Counted from 1. */
  readonly call: number
  readonly code: FaultCode
  /** 0: this call only. Else every call from this one on, for so many milliseconds. */
  readonly lastsMs: number
}

/** Calls of a field, by kind. */
export type CallCounts = ReadonlyMap<Operation, number>

/** Kinds of calls that change nothing: whoever concludes something from their failure guesses. */
export const LOOKS: ReadonlySet<Operation> = new Set(['open', 'read', 'stat', 'readdir'])

const OF_LOOKS: readonly FaultCode[] = ['EIO', 'EACCES', 'ENOMEM', 'ESTALE', 'ETIMEDOUT']
const OF_OPENING: readonly FaultCode[] = [...OF_LOOKS, 'EMFILE', 'ENFILE']
const OF_CHANGES: readonly FaultCode[] = [...OF_LOOKS, 'ENOSPC', 'EROFS', 'EDQUOT']
const OF_LOCKS: readonly FaultCode[] = ['ENOLCK', 'EIO', 'ENOMEM', 'EAGAIN']

/** The errors with which calls of this kind fail in practice. */
function codesOf(operation: Operation): readonly FaultCode[] {
  if (operation === 'open') return OF_OPENING
  if (operation === 'lock') return OF_LOCKS
  return LOOKS.has(operation) || operation === 'map' ? OF_LOOKS : OF_CHANGES
}

/** Mostly one call; some stay for a second, and a few for longer than any patience of seconds. */
const LASTING_MS = [0, 0, 0, 0, 0, 1000, 1000, 7000] as const

/** Every call of a field, each with a code and a time that the seed draws. */
export function pointsOf(field: Field, counts: CallCounts, chance: Chance): FaultPoint[] {
  return OPERATIONS.flatMap((operation) =>
    Array.from({ length: counts.get(operation) ?? 0 }, (_, before) => ({
      ...field,
      operation,
      call: before + 1,
      code: chance.pick(codesOf(operation)),
      lastsMs: chance.pick(LASTING_MS),
    })),
  )
}

export function ruleOf({ victim, path, operation, call, code, lastsMs }: FaultPoint): FaultRule {
  const count = lastsMs > 0 ? Infinity : 1
  return { operation, program: PROGRAMS[victim], path, action: code, calls: { first: call, count } }
}

/** A fault in words; the same words find it again. */
export function nameOf({ scene, victim, operation, call, code, lastsMs }: FaultPoint): string {
  const during = lastsMs > 0 ? ` for ${lastsMs} ms` : ''
  return `${scene}: ${operation} ${call} of the ${victim} fails with ${code}${during}`
}
