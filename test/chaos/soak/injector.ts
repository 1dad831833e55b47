import { setTimeout as pause } from 'node:timers/promises'
import type { Chance } from '../kit/seed.js'
import type { FaultContext, FaultKind } from './fault-kind.js'

/** Most faults at the same time: they shall meet, and the product shall still get somewhere between them. */
const MAX_AT_ONCE = 3
const MAX_GAP_MS = 2500

/** What was injected. */
export interface Injected {
  readonly counts: ReadonlyMap<string, number>
  /** Faults that could not be injected, with the reason; most often their victim was down. */
  readonly missed: readonly string[]
}

/** Injects drawn faults at drawn moments until the signal, and then waits until each has mended itself. */
export async function injectFaults(
  kinds: readonly FaultKind[],
  context: Omit<FaultContext, 'chance'>,
  chance: Chance,
  until: AbortSignal,
  counts: Map<string, number>,
): Promise<Injected> {
  const missed: string[] = []
  const underWay = new Set<Promise<void>>()
  for (let number = 1; !until.aborted; number += 1) {
    await pause(chance.between(100, MAX_GAP_MS), undefined, { signal: until }).catch(() => undefined)
    if (until.aborted) break
    const kind = draw(kinds, chance)
    // Each fault draws from a stream of its own, so that what it draws does not depend on when others do.
    const own = chance.fork(`fault ${number}`)
    const injection = kind
      .inject({ ...context, chance: own })
      .then(() => void counts.set(kind.name, (counts.get(kind.name) ?? 0) + 1))
      .catch((error: unknown) => void missed.push(`${kind.name}: ${String(error)}`))
      .finally(() => underWay.delete(injection))
    underWay.add(injection)
    if (underWay.size >= MAX_AT_ONCE) await Promise.race(underWay)
  }
  await Promise.all(underWay)
  return { counts, missed }
}

function draw(kinds: readonly FaultKind[], chance: Chance): FaultKind {
  const whole = kinds.reduce((sum, kind) => sum + kind.weight, 0)
  let place = chance.next() * whole
  const found = kinds.find((kind) => (place -= kind.weight) < 0)
  if (!found) throw new Error('no fault drawn')
  return found
}
