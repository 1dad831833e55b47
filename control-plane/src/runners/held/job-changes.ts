import type { JobEnds } from '../../jobs/job-port.js'
import type { LiveEvents } from '../../live/live-events.js'
import type { Store } from '../../store/store.js'
import type { Clock } from '../../time/clock.js'

/** What a part needs that changes jobs of runners. */
export interface JobChanges {
  readonly store: Store
  readonly clock: Clock
  readonly live: LiveEvents
  /** Informed when jobs end. */
  readonly ends?: JobEnds | undefined
}
