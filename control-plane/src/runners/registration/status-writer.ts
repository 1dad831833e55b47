import { createSerialQueue } from '@holdfast/host/queues'
import type { Logger } from 'pino'
import { messageOf } from '../../errors.js'
import { type RunnerStatus, storeRunnerStatus } from '../../store/runners/runner-status.js'
import type { Store } from '../../store/store.js'

/** How long statuses are collected before they are written together, in milliseconds. */
const GATHER_MS = 1000

/** Stores the statuses of runners. */
export interface StatusWriter {
  /**
   * Stores the newest status of a runner. It is written within a second, together with those of other runners. It is
   * written at once when it decides what may be offered (`urgent`). `visible`: an admin's page shows something else
   * now. `over`: it is the last status of its connection.
   */
  note(
    runnerId: number,
    epoch: number,
    status: RunnerStatus,
    how: { readonly urgent: boolean; readonly visible: boolean; readonly over?: boolean },
  ): void
  /** Writes the remaining statuses and stops. */
  close(): Promise<void>
}

interface Noted {
  readonly epoch: number
  readonly status: RunnerStatus
  readonly visible: boolean
  readonly over: boolean
}

/** Stores many heartbeats in few commits: one write stores the statuses of all runners. */
export function createStatusWriter(deps: {
  readonly store: Store
  readonly log: Logger
  /** Called after the write when it changed something visible. */
  readonly changed: () => void
}): StatusWriter {
  const noted = new Map<number, Noted>()
  let timer: NodeJS.Timeout | null = null
  const writes = createSerialQueue()
  let closed = false
  let isQueued = false

  async function flush(): Promise<void> {
    if (timer) clearTimeout(timer)
    timer = null
    isQueued = false
    // Every node writes in the same order, because two nodes may have each other's runners in their batch.
    const batch = [...noted].sort(([one], [other]) => one - other)
    noted.clear()
    if (batch.length === 0) return
    try {
      await deps.store.write('runners.status', async (queries) => {
        for (const [id, { epoch, status, over }] of batch) await storeRunnerStatus(queries, id, epoch, status, over)
      })
      if (batch.some(([, one]) => one.visible)) deps.changed()
    } catch (error) {
      // The next heartbeat brings newer numbers.
      deps.log.warn({ err: error }, `runner status not stored: ${messageOf(error)}`)
    }
  }

  /**
   * One write runs at a time, and at most one waits. A waiting write takes everything that arrives before it begins.
   */
  function start(): void {
    if (isQueued) return
    isQueued = true
    void writes.add(flush)
  }

  return {
    note(runnerId, epoch, status, { urgent, visible, over = false }) {
      if (closed) return
      noted.set(runnerId, { epoch, status, visible: visible || noted.get(runnerId)?.visible === true, over })
      if (urgent) start()
      else timer ??= setTimeout(start, GATHER_MS)
    },
    async close() {
      closed = true
      start()
      await writes.idle()
    },
  }
}
