import type { Operation } from './document.js'
import type { WireAnswer } from './answers.js'
import type { Draft } from './draft.js'
import type { Waits } from '../support/live-prober.js'
import type { Figures } from './growth.js'
import type { Secrets } from './judge.js'
import type { Account } from './requests.js'
import type { World } from './world.js'

/** A service that requests are sent to, and what is known of it from beside. */
export interface Target {
  readonly address: { readonly host: string; readonly port: number }
  readonly operations: readonly Operation[]
  readonly world: World
  /** The account that requests sign in with. */
  readonly account: Account
  readonly secrets: Secrets
  /** Where the list of requests, and what belongs to a fault, are written. */
  readonly folder: string
  /** What is wrong with an answer by the document of the service. */
  contract?(request: Draft, answer: WireAnswer): string[]
  isReachable(operation: Operation, status: number): boolean
  /** What has become of its programs: sentences when one of them ended, or logged what it should not. */
  complaints(): string[]
  /** Told of every request before it is sent. */
  note?(request: Draft): void
  /** Puts back what requests have taken away, and looks at what there is now. */
  mend(): Promise<void>
  /** What a second process saw that asks /live all the time; left out where there is none. */
  readonly live?: {
    waits(): Promise<Waits | null>
    /** Since the last call. */
    look(): Promise<Waits | null>
    /** What the main thread of the service has computed up to now, and waited for a processor, in milliseconds. */
    mainThread(): { readonly computed: number; readonly waited: number }
    close(): void
  }
  /** Its figures once nothing is asked of it any more. */
  measure(): Promise<Figures>
}
