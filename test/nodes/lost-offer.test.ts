import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PostgresServer } from '../support/postgres.js'
import { type Product, startProduct } from '../support/product.js'
import { readProductRows } from '../support/product-database.js'
import { type AgentIdentity, RawAgent, newIdentity } from '../support/raw-agent.js'
import { type TestDatabase, createTestDatabase } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'

/** Longer than the control plane asks what became of a commit. */
const AWAY_MS = 12_000

/** Silence after which a runner is given up, and an outage that is longer than one and a half of it. */
const LOST_SECONDS = 8
const LONG_AWAY_MS = 16_000

/** How long a control plane may take for a few looks. */
const SEVERAL_LOOKS_MS = 3000

const FORM = 'name: one\ntype: ansible\nplaybook: one.yml\nroles: [public]\nfields: []\n'

let database: TestDatabase
let network: DatabaseNetwork
let product: Product
let agent: RawAgent
let identity: AgentIdentity
const settings: Record<string, string> = {}

beforeAll(async () => {
  database = await createTestDatabase('', 'postgres')
  network = await startNetwork(database.url)
  const server: Pick<PostgresServer, 'urlOf'> = { urlOf: () => network.url }
  product = await startProduct({
    database: server as PostgresServer,
    withAgent: false,
    controlPlane: settings,
    forms: { 'one.yml': FORM },
    playbooks: { 'one.yml': '[]\n' },
  })
  identity = newIdentity('edge')
  agent = await RawAgent.join(socketUrl(), identity)
  const { records } = await product.admin.get<{ records: { id: number }[] }>('/runner')
  await product.admin.post(`/runner/${records[0]?.id}/approve`)
  await agent.next('settings')
  await product.admin.request('PUT', `/runner/${records[0]?.id}`, { is_default: true })
  agent.say({ type: 'inventory', jobs: [] })
  await agent.next('resume')
})
afterAll(async () => {
  await product.close()
  await network.close()
  await database.remove()
})

const socketUrl = () => `${product.address.replace('http', 'ws')}/api/v2/rte/socket`

const offerOf = (jobId: number) =>
  waitFor('the offer', () =>
    agent.messages.find((message) => message.type === 'offer' && message.order.job_id === jobId),
  )

/** Waits until the control plane ends the connection, and dials again, as an agent with an empty spool does. */
async function reconnected(): Promise<void> {
  await agent.waitForClose()
  agent = await RawAgent.join(socketUrl(), identity)
  agent.say({ type: 'inventory', jobs: [] })
  await agent.next('resume')
}

const jobOf = (jobId: number) => product.admin.get<{ status: string; status_reason: string }>(`/job/${jobId}`)

async function dispatchOf(jobId: number): Promise<string | undefined> {
  const [row] = await readProductRows<{ dispatch: string }>(beside(), 'select dispatch from job where id = ?', [jobId])
  return row?.dispatch
}

/** The database, not through its network. */
const beside = () => ({ ...product, databaseUrl: database.url })

test('the answer to the commit of "offered" is lost and the server is away: the job is offered when it is back', async () => {
  const swallowed = network.swallowCommitOf('update "job" set "dispatch"')
  const jobId = await product.launch('one')
  await swallowed
  await waitFor('the commit', async () => (await dispatchOf(jobId)) === 'offered')
  network.away(true)
  await pause(AWAY_MS)
  network.away(false)
  await reconnected()
  await offerOf(jobId)
  await product.admin.post(`/job/${jobId}/abort`)
  agent.say({ type: 'unknown_job', job_id: jobId, run_id: await runIdOf(jobId) })
  expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'aborted' })
})

test('a job that is offered and that nobody offers is found, and its abort works', async () => {
  const jobs = [await product.launch('one'), await product.launch('one')] as const
  for (const jobId of jobs) await offerOf(jobId)
  // The offers of this connection are forgotten with it; nothing was claimed. A draining runner gets no new ones.
  await agent.leave()
  agent = await RawAgent.join(socketUrl(), identity)
  agent.status({ max_jobs: 10, draining: true })
  agent.say({ type: 'inventory', jobs: [] })
  await agent.next('resume')
  for (const jobId of jobs) await waitFor('the queue', async () => (await dispatchOf(jobId)) === 'queued')
  await readProductRows(beside(), "update job set dispatch = 'offered' where dispatch = 'queued'")
  await product.admin.post(`/job/${jobs[0]}/abort`)
  await reconnected()
  expect(await product.waitForEnd(jobs[0])).toMatchObject({
    status: 'aborted',
    status_reason: 'aborted by admin before it started',
  })
  agent.status()
  await offerOf(jobs[1])
  expect(await jobOf(jobs[1])).toMatchObject({ status: 'running' })
})

test('an outage of the database is no silence of a runner: its running job is not given up', async () => {
  await product.controlPlane.stop('SIGTERM')
  settings.RTE_LOST_SECONDS = String(LOST_SECONDS)
  await product.startControlPlane()
  await reconnected()
  agent.status()
  const jobId = await product.launch('one')
  await offerOf(jobId)
  const run_id = await runIdOf(jobId)
  agent.say({ type: 'claimed', job_id: jobId, run_id })
  await waitFor('the claim', async () => (await dispatchOf(jobId)) === 'claimed')
  network.away(true)
  await pause(LONG_AWAY_MS)
  network.away(false)
  await waitFor('the database', async () => (await product.admin.raw('/ready')).status === 200)
  await pause(SEVERAL_LOOKS_MS)
  expect(await jobOf(jobId)).toMatchObject({ status: 'running', status_reason: null })
  agent = await RawAgent.join(socketUrl(), identity)
  agent.say({ type: 'inventory', jobs: [{ job_id: jobId, run_id, output: 0, events: 0, ended: false }] })
  expect(await agent.next('resume')).toMatchObject({ jobs: [{ job_id: jobId, verdict: 'continue' }] })
  expect(await jobOf(jobId)).toMatchObject({ status: 'running' })
})

async function runIdOf(jobId: number): Promise<string> {
  const [row] = await readProductRows<{ run_id: string }>(beside(), 'select run_id from job where id = ?', [jobId])
  return row?.run_id ?? ''
}

/** The way of a control plane to its database. */
interface DatabaseNetwork {
  readonly url: string
  /** The commit of the next transaction that holds this statement arrives; its answer does not. Resolves when it is sent. */
  swallowCommitOf(statement: string): Promise<void>
  /** Ends all connections and refuses new ones. */
  away(isAway: boolean): void
  close(): Promise<void>
}

async function startNetwork(target: string): Promise<DatabaseNetwork> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let isAway = false
  let awaited: { readonly statement: string; readonly sent: () => void } | null = null

  const server = createServer((near) => {
    if (isAway) return void near.destroy()
    const far = connect(Number(port), hostname)
    let isMarked = false
    let isSwallowed = false
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    near.on('data', (bytes: Buffer) => {
      const text = bytes.toString('latin1')
      if (awaited && text.includes(awaited.statement)) isMarked = true
      if (awaited && isMarked && text.includes('; commit')) {
        isSwallowed = true
        awaited.sent()
        awaited = null
      }
      far.write(bytes)
    })
    far.on('data', (bytes: Buffer) => {
      if (!isSwallowed) near.write(bytes)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = target.replace(`:${port}/`, `:${(server.address() as AddressInfo).port}/`)

  return {
    url,
    swallowCommitOf: (statement) => new Promise((sent) => (awaited = { statement, sent })),
    away(value) {
      isAway = value
      if (value) for (const socket of sockets) socket.destroy()
    },
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}
