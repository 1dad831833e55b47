import { RawAgent, newIdentity } from '../support/raw-agent.js'
import type { Product } from '../support/product.js'
import type { Callers } from './callers.js'
import type { Operation } from './document.js'
import { PREFIX } from './document.js'
import type { World } from './world.js'

/** Jobs that go on for minutes: so many may stay. */
const MAX_RUNNING = 4
/** Requests to join that requests can approve, reject and delete. */
const WAITING = 3
const MAX_RUNNERS = 40

interface RunnerRecord {
  readonly id: number
  readonly name: string
  readonly state: string
}

/** Keeps the service worth asking: callers signed in, the runner approved, jobs to abort, runners to approve. */
export interface Keeper {
  mend(): Promise<void>
}

export function createKeeper(
  product: Product,
  world: World,
  callers: Callers,
  operations: readonly Operation[],
): Keeper {
  const { admin } = product
  let joined = 0
  /** Lists of things that other operations take by their ids. */
  const lists = operations.filter(
    ({ method, path, body }) =>
      method === 'GET' &&
      body === null &&
      !path.includes('{') &&
      operations.some((other) => other.path.startsWith(`${path}/{`)),
  )

  const mendRunners = async (): Promise<void> => {
    const { records } = await admin.get<{ records: RunnerRecord[] }>('/runner?records=1000')
    const own = records.find(({ name }) => name === 'test-runner')
    if (!own) throw new Error('the runner of the product is gone')
    world.protected.set('/runner', new Set([own.id]))
    if (own.state !== 'approved') await admin.post(`/runner/${own.id}/approve`)
    await admin.request('PUT', `/runner/${own.id}`, { enabled: true, is_default: true, max_jobs: null })
    const waiting = records.filter(({ state }) => state === 'waiting').length
    if (records.length >= MAX_RUNNERS) {
      const oldest = records.filter(({ id, state }) => id !== own.id && state !== 'waiting')[0]
      if (oldest) await admin.request('DELETE', `/runner/${oldest.id}`)
    }
    for (let count = waiting; count < WAITING && records.length < MAX_RUNNERS; count += 1) await askToJoin()
  }

  const askToJoin = async (): Promise<void> => {
    joined += 1
    const socket = `${product.address.replace('http', 'ws')}${PREFIX}/rte/socket`
    const agent = await RawAgent.join(socket, newIdentity(`stranger-${joined}`))
    await agent.leave()
  }

  const mendJobs = async (): Promise<void> => {
    const { records } = await admin.get<{ records: { id: number; status: string }[] }>('/job?records=200')
    const running = records.filter(({ status }) => status === 'running')
    for (const { id } of running.slice(MAX_RUNNING)) await admin.request('POST', `/job/${id}/abort`)
  }

  return {
    async mend() {
      await callers.mend()
      await mendRunners()
      await mendJobs()
      for (const list of lists) {
        const path = list.path.slice(PREFIX.length)
        // What is everybody's own is asked as the caller who may lose it.
        const isOwn = path.startsWith('/profile/')
        const answer = isOwn ? await callers.ask('expendable', path) : await admin.get(`${path}?records=60`)
        world.learn(list, list.path, answer, isOwn ? 'expendable' : 'admin')
      }
    },
  }
}
