import type { ChaosProduct } from '../kit/chaos-product.js'
import type { Chance } from '../kit/seed.js'
import type { Lives } from './lives.js'

/** What a fault works on. */
export interface FaultContext {
  readonly chaos: ChaosProduct
  readonly lives: Lives
  readonly chance: Chance
  /** Notes that this job may truthfully end otherwise than planned: a part of it was killed. */
  readonly harmed: (jobId: number) => void
}

/** One kind of fault: how often it comes next to the others, and what it does. It mends itself before it resolves. */
export interface FaultKind {
  readonly name: string
  readonly weight: number
  readonly inject: (context: FaultContext) => Promise<void>
}
