import type { Chance } from '../kit/seed.js'
import { type Load, SMALL_LOAD } from '../kit/load.js'
import { SOAK_PLAYBOOKS, type SoakPlaybook } from './playbooks.js'

/** A job to launch, as it is drawn from the seed. */
export type PlannedJob = {
  readonly name: string
  /** Milliseconds after the launch at which somebody aborts it; null: nobody does. */
  readonly abortAfterMs: number | null
} & (
  | { readonly kind: 'emitted'; readonly load: Load }
  | {
      readonly kind: 'ansible'
      readonly playbook: SoakPlaybook
      readonly rounds: number
      readonly seconds: number
    }
)

const ANSIBLE_SHARE = 0.25
const ABORTED_SHARE = 0.08

/** The next job of the soak. */
export function planJob(chance: Chance, number: number): PlannedJob {
  const name = `soak-${number}`
  const abortAfterMs = chance.next() < ABORTED_SHARE ? chance.between(0, 6000) : null
  if (chance.next() < ANSIBLE_SHARE) {
    const playbook = chance.pick(SOAK_PLAYBOOKS)
    return {
      kind: 'ansible',
      name,
      abortAfterMs,
      playbook,
      rounds: chance.between(1, 15),
      seconds: chance.between(0, 8),
    }
  }
  return { kind: 'emitted', name, abortAfterMs, load: planLoad(chance) }
}

/** From a burst to a trickle, at most some 20 MB and a quarter of a minute. */
function planLoad(chance: Chance): Load {
  const base: Load = {
    ...SMALL_LOAD,
    seed: chance.between(1, 1_000_000),
    exitCode: chance.pick([0, 0, 0, 0, 2]),
    binary: chance.next() < 0.2,
    unfinished: chance.next() < 0.2,
  }
  switch (chance.pick(['burst', 'steady', 'trickle', 'bulk', 'events only', 'silent'])) {
    case 'burst':
      return { ...base, steps: chance.between(100, 5000), outputBytes: chance.between(1, 200), eventBytes: 200 }
    case 'steady':
      return { ...base, steps: chance.between(500, 6000), perSecond: chance.between(100, 800), eventBytes: 300 }
    case 'trickle':
      return { ...base, steps: chance.between(5, 60), perSecond: chance.between(3, 12) }
    case 'bulk':
      return { ...base, steps: chance.between(20, 300), outputBytes: 65_000, eventBytes: chance.pick([0, 20_000]) }
    case 'events only':
      return { ...base, steps: chance.between(100, 3000), outputBytes: 0, eventBytes: chance.between(10, 2000) }
    default:
      return { ...base, steps: chance.between(1, 10), outputBytes: 0, eventBytes: 0, perSecond: 2 }
  }
}
