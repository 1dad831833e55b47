import type { ChaosProduct } from '../kit/chaos-product.js'
import type { Chance } from '../kit/seed.js'
import type { Lives } from './lives.js'

/** What a fault works on. */
export interface FaultContext {
  readonly chaos: ChaosProduct
  readonly lives: Lives
  readonly chance: Chance
  /** Notes that this job may truthfully end otherwise than planned, and why. */
  readonly harmed: (jobId: number, harm: Harm) => void
}

/**
 * What was done to a job so that it may end otherwise than planned: its supervisor was killed, or the files were away that
 * ansible itself reads while it runs.
 */
export type Harm = 'supervisor killed' | 'files away'

/** One kind of fault: how often it comes next to the others, and what it does. It mends itself before it resolves. */
export interface FaultKind {
  readonly name: string
  readonly weight: number
  readonly inject: (context: FaultContext) => Promise<void>
}
