import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type ChaosJob, expectExactJobs, launchEmitted, launchPlaybook } from '../chaos/kit/jobs.js'
import { createChance } from '../chaos/kit/seed.js'
import { covers } from '../interface/covers.js'
import { openEventStream } from '../support/event-stream.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'
import type { RestClient } from '../support/rest.js'
import { waitFor } from '../support/wait.js'
import { type Node, type SeveralNodes, everybodySeen, nodesSeenBy, startSeveral } from './several.js'

const NAMES = ['appearance', 'designer', 'jobs', 'runners']

let several: SeveralNodes
/** The node that the agent is connected to, and another one. */
let here: Node
let there: Node

beforeAll(async () => {
  several = await startSeveral(2)
  ;[here, there] = several.nodes as [Node, Node]
})
afterAll(() => several.close())

async function openStream(node: Node) {
  const stream = await openEventStream(node.address, node.admin.token)
  onTestFinished(() => stream.close())
  return stream
}

const namesIn = (changes: readonly unknown[]) =>
  [...new Set(changes.map((one) => (one as { name: string }).name))].sort()

async function runnerOf(admin: RestClient, name: string) {
  const { records } = await admin.get<{ records: { id: number; name: string; online: boolean; state: string }[] }>(
    '/runner',
  )
  const runner = records.find((one) => one.name === name)
  if (!runner) throw new Error(`there is no runner ${name}`)
  return runner
}

/** A job launched and followed at this node. */
async function launchAt(node: Node): Promise<ChaosJob> {
  several.askAt(node)
  const job = await launchEmitted(several.chaos, createChance(1))
  await job.keep()
  return job
}

describe('live events', () => {
  test('of one node reach the streams of the other', async () => {
    covers('live-4.nodes')
    const stream = await openStream(there)
    const { id } = await runnerOf(here.admin, 'test-runner')
    await here.admin.request('PUT', '/settings/appearance', { announcement: 'hello' })
    await waitFor('appearance', () => namesIn(stream.changes()).includes('appearance'))
    await here.admin.post('/lock')
    await waitFor('designer', () => namesIn(stream.changes()).includes('designer'))
    await here.admin.request('PUT', `/runner/${id}`, { description: 'changed' })
    await waitFor('runners', () => namesIn(stream.changes()).includes('runners'))
    await here.admin.post('/job', { formName: 'one-gate', rawFormData: { truth: several.chaos.product.folder } })
    await waitFor('jobs', () => namesIn(stream.changes()).includes('jobs'))
  })

  test('all four names come after the connection that carries them was lost', async () => {
    const stream = await openStream(there)
    expect(await several.cutDatabase('holdfast notifications')).toBe(2)
    await waitFor('all of them', () => namesIn(stream.changes()).join() === NAMES.join())
  })
})

describe('a runner whose socket is at another node', () => {
  test('runs what is launched here, and aborts it', async () => {
    const job = await launchAt(there)
    await there.admin.post(`/job/${job.jobId}/abort`)
    expect(await several.chaos.product.waitForEnd(job.jobId)).toMatchObject({ status: 'aborted' })
  })

  test('asks there, is approved and revoked here', async () => {
    const identity = newIdentity('asks-there')
    const url = `${here.address.replace('http', 'ws')}/api/v2/rte/socket`
    const agent = await RawAgent.join(url, identity)
    const { id, online } = await runnerOf(there.admin, 'asks-there')
    expect(online).toBe(true)
    await there.admin.post(`/runner/${id}/approve`)
    expect(await agent.next('settings')).toMatchObject({ state: 'approved' })
    await there.admin.post(`/runner/${id}/revoke`)
    expect(await agent.waitForClose()).toMatchObject({ reason: 'revoked' })
  })
})

describe('a sign-in', () => {
  test('counts at every node, and a refresh token that is used at two at once ends it', async () => {
    const login = { username: 'admin', password: 'correct horse battery' }
    const answer = await here.admin.request('POST', '/auth/login', login)
    const { token, refreshtoken } = answer.body as { token: string; refreshtoken: string }
    const profileAt = (node: Node) =>
      fetch(`${node.address}/api/v2/profile`, { headers: { authorization: `Bearer ${token}` } }).then(
        (got) => got.status,
      )
    expect(await Promise.all([here, there].map(profileAt))).toEqual([200, 200])
    const refresh = (node: Node) => node.admin.request('POST', '/token', { refreshtoken })
    const used = await Promise.all([refresh(here), refresh(there)])
    expect(used.map(({ status }) => status).sort()).toEqual([200, 401])
    expect(await Promise.all([here, there].map(profileAt))).toEqual([401, 401])
  })
})

test('a key of the service that was replaced at one node is shown to runners by the other', async () => {
  const keyAt = (node: Node) => node.admin.get<{ fingerprint: string; previous: string[] }>('/service/key')
  const { fingerprint } = await keyAt(here)
  const replaced = await here.admin.post<{ fingerprint: string }>('/service/key/rotate', { fingerprint })
  await waitFor('the key there', async () => (await keyAt(there)).fingerprint === replaced.fingerprint)
  expect(await keyAt(there)).toMatchObject({ previous: [fingerprint] })
  // The agent follows the new key at the next node, in the test below.
})

describe('kill -9 of the node that has the socket of a runner', () => {
  test('while output streams: the runner goes to the other one, and every byte is there once', async () => {
    const jobs = [await launchAt(there), await launchPlaybook(several.chaos)]
    for (const job of jobs) await job.keep()
    await several.end(here, 'SIGKILL')
    for (const job of jobs) job.openGate()
    await waitFor('the runner at the other node', async () => (await runnerOf(there.admin, 'test-runner')).online)
    await expectExactJobs(several.chaos, jobs)
    await waitFor('the dead node to be missed', async () => (await nodesSeenBy(there.admin)).dead === 1)
  })

  test('one that is started anew takes part', async () => {
    const added = await several.add()
    await everybodySeen(several)
    const stream = await openStream(there)
    await added.admin.request('PUT', '/settings/appearance', { announcement: 'again' })
    await waitFor('appearance', () => namesIn(stream.changes()).includes('appearance'))
  })
})
