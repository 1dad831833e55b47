import { messageOf } from '../../errors.js'
import type { Ground } from '../../ground/ground.js'
import type { LiveEvents } from '../../live/live-events.js'
import type { Nodes } from '../../nodes/nodes.js'
import {
  type RunnerAddress,
  listRunnerAddresses,
  noteAddressProblem,
  takeRunnerAddress,
} from '../../store/runners/runner-addresses.js'
import type { Store } from '../../store/store.js'
import type { RunnerHub } from '../registration/hub/hub.js'
import { type Dial, createDial } from './dial.js'

/** How often a node looks for addresses that nobody dials, in milliseconds. */
const LOOK_MS = 2000

/** What this part needs of other parts. */
export interface RunnerAddressDependencies extends Pick<Ground, 'clock' | 'steady' | 'timers' | 'random' | 'log'> {
  readonly store: Store
  readonly live: LiveEvents
  readonly nodes: Nodes
  readonly accept: RunnerHub['accept']
}

/**
 * Each address is dialled by one node: the node that its row names. Another node takes the row when that node is dead.
 * A row is taken by one write that names the dead node, so two nodes cannot both take it. If two nodes dial for a
 * moment all the same, the epochs of the runner decide, as always when a runner has two connections.
 */
export function createDialWatch(deps: RunnerAddressDependencies) {
  const { store, nodes, live, log } = deps
  const dials = new Map<number, Dial>()
  const writes = new Set<Promise<void>>()
  let looking: Promise<void> | null = null
  let isClosed = false
  /** A failure is logged once, until it works again. */
  let isReported = false

  function startDial(address: RunnerAddress): void {
    let { problem: stored } = address
    const noted = (problem: string | null): void => {
      if (problem === stored) return
      stored = problem
      if (problem !== null) log.warn({ address: address.address, reason: problem }, 'a runner cannot be dialled')
      const note = { id: address.id, node: nodes.id, problem }
      const write = store
        .write('runners.address-problem', (queries) => noteAddressProblem(queries, note))
        .then(() => live.changed('runners'))
        // People only see it. The next change is stored again.
        .catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'the state of a dial could not be stored'))
        .finally(() => void writes.delete(write))
      writes.add(write)
    }
    dials.set(address.id, createDial({ ...deps, noted }, address))
  }

  async function lookOnce(): Promise<void> {
    const ours = new Set<number>()
    for (const address of await listRunnerAddresses(store.read)) {
      if (isClosed) return
      if (!(await isOurs(deps, address))) continue
      ours.add(address.id)
      if (!isClosed && !dials.has(address.id)) startDial(address)
    }
    for (const [id, dial] of dials) {
      if (ours.has(id)) continue
      dials.delete(id)
      dial.close()
    }
    isReported = false
  }

  /** Looks which addresses this node has to dial. It runs automatically. */
  function look(): Promise<void> {
    looking ??= lookOnce().finally(() => {
      looking = null
    })
    return looking
  }

  /** The same, for callers that do not wait for it. */
  const lookSoon = (): void => {
    look().catch((error: unknown) => {
      // After a failed read nothing changes: this node goes on dialling the same addresses.
      if (!isReported) log.warn({ reason: messageOf(error) }, 'looking for runners to dial failed; it is tried again')
      isReported = true
    })
  }
  const stopLooking = deps.timers.every(LOOK_MS, lookSoon)

  return {
    look,
    lookSoon,
    /** Stops dialling this address. */
    drop(id: number): void {
      dials.get(id)?.close()
      dials.delete(id)
    },
    async close(): Promise<void> {
      isClosed = true
      stopLooking()
      for (const dial of dials.values()) dial.close()
      dials.clear()
      await looking?.catch(() => undefined)
      await Promise.all(writes)
    },
  }
}

/** Whether this node dials an address. If no living node dials the address, this call takes it. */
async function isOurs({ store, nodes }: RunnerAddressDependencies, address: RunnerAddress): Promise<boolean> {
  const { node } = address
  if (node === nodes.id) return true
  if (node !== null && nodes.isAlive(node)) return false
  return store.write('runners.take-address', (queries) => takeRunnerAddress(queries, address, nodes.id))
}
