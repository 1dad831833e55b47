import { ConflictError, InvalidInputError, NotFoundError, messageOf } from '../../errors.js'
import type { Ground } from '../../ground.js'
import type { LiveEvents } from '../../live/live-events.js'
import type { Nodes } from '../../nodes/nodes.js'
import {
  type RunnerAddress,
  deleteRunnerAddress,
  hasRunnerAddress,
  insertRunnerAddress,
  listRunnerAddresses,
  noteAddressProblem,
  takeRunnerAddress,
} from '../../store/runners/runner-addresses.js'
import type { Store } from '../../store/store.js'
import type { RunnerHub } from '../registration/hub.js'
import { type Dial, createDial } from './dial.js'

/** How often a node looks for addresses that nobody dials, in milliseconds. */
const LOOK_MS = 2000

/** Most addresses. Each one costs a socket. */
const MOST_ADDRESSES = 1000

/** The runners that the control plane dials, because their hosts may not dial out. */
export interface RunnerAddresses {
  list(): Promise<RunnerAddress[]>
  exists(id: number): Promise<boolean>
  /**
   * From now on this address is dialled.
   * @throws InvalidInputError, ConflictError when it is there already, or when there are too many
   */
  add(given: { readonly address: string; readonly fingerprint: string | null }, by: string): Promise<RunnerAddress>
  /** From now on it is not dialled any more; the runner itself stays. @throws NotFoundError */
  remove(id: number, by: string): Promise<void>
  /** Looks which addresses this node has to dial. It runs automatically. */
  look(): Promise<void>
  close(): Promise<void>
}

/** What this part needs of other parts. */
export interface RunnerAddressDependencies extends Pick<Ground, 'clock' | 'steady' | 'timers' | 'random' | 'log'> {
  readonly store: Store
  readonly live: LiveEvents
  readonly nodes: Nodes
  readonly accept: RunnerHub['accept']
}

/**
 * Each address is dialled by one node: the node that its row names. Another node takes the row when that node is dead.
 * A row is taken by one write that names the dead node, so two nodes cannot both take it. If two nodes dial all the
 * same for a moment, the epochs of the runner decide, as with every second connection of a runner.
 */
export function createRunnerAddresses(deps: RunnerAddressDependencies): RunnerAddresses {
  const { store, nodes, clock, live, log } = deps
  const dials = new Map<number, Dial>()
  const writes = new Set<Promise<void>>()
  let looking: Promise<void> | null = null
  let isClosed = false
  /** A failure is logged once, until it works again. */
  let isReported = false

  const isOrphan = ({ node }: RunnerAddress): boolean => node === null || (node !== nodes.id && !nodes.isAlive(node))

  async function isOurs(address: RunnerAddress): Promise<boolean> {
    if (!isOrphan(address)) return address.node === nodes.id
    return store.write('runners.take-address', (queries) => takeRunnerAddress(queries, address, nodes.id))
  }

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
        // It is only shown to people; the next change is stored again.
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
      if (!(await isOurs(address))) continue
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

  function look(): Promise<void> {
    looking ??= lookOnce().finally(() => {
      looking = null
    })
    return looking
  }

  const lookQuietly = (): void => {
    look().catch((error: unknown) => {
      // Nothing follows from a failure to read: who is dialled stays dialled.
      if (!isReported) log.warn({ reason: messageOf(error) }, 'looking for runners to dial failed; it is tried again')
      isReported = true
    })
  }
  const stopLooking = deps.timers.every(LOOK_MS, lookQuietly)

  return {
    list: () => listRunnerAddresses(store.read),
    exists: (id) => hasRunnerAddress(store.read, id),
    look,
    async add({ address: text, fingerprint }, by) {
      const address = normalAddress(text)
      const row = { address, fingerprint, createdAt: clock.now(), createdBy: by }
      const added = await store.write('runners.add-address', async (queries) => {
        if ((await listRunnerAddresses(queries)).length >= MOST_ADDRESSES) {
          throw new ConflictError('too_many_addresses', `There are ${MOST_ADDRESSES} addresses of runners already`)
        }
        return insertRunnerAddress(queries, row)
      })
      if (!added) throw new ConflictError('address_exists', `${address} is dialled already`)
      log.info({ address, by }, 'an address of a runner was added')
      live.changed('runners')
      lookQuietly()
      return added
    },
    async remove(id, by) {
      const removed = await store.write('runners.remove-address', (queries) => deleteRunnerAddress(queries, id))
      if (!removed) throw new NotFoundError('no_such_address', `There is no address ${id}`)
      dials.get(id)?.close()
      dials.delete(id)
      log.info({ address: removed.address, by }, 'an address of a runner was removed')
      live.changed('runners')
    },
    async close() {
      isClosed = true
      stopLooking()
      for (const dial of dials.values()) dial.close()
      dials.clear()
      await looking?.catch(() => undefined)
      await Promise.all(writes)
    },
  }
}

/** @throws InvalidInputError when the text is not a host with a port */
function normalAddress(text: string): string {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  const isPlain = url && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === ''
  if (!isPlain || url.protocol !== 'http:' || url.port === '' || url.password !== '') {
    throw new InvalidInputError(
      'bad_address',
      'The address must be a host and a port, such as http://runner.example:8002',
    )
  }
  return url.origin
}
