import { createHash } from 'node:crypto'
import { SOCKET_PATH, type SpooledJob } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'
import { waitFor } from '../support/wait.js'

/** A runner can only write to jobs that are assigned to it, whatever it sends over the socket. */
let product: Product
let url: string

const NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

async function join(name: string, jobs: readonly SpooledJob[] = []): Promise<{ agent: RawAgent; epoch: number }> {
  const { token } = await product.admin.post<{ token: string }>('/runner/join-tokens', {})
  const agent = await RawAgent.join(url, newIdentity(name), { join_token: token })
  agent.say({ type: 'inventory', jobs: [...jobs] })
  await agent.next('resume')
  return { agent, epoch: (await agent.next('welcome')).epoch }
}

/** An end record for streams of which only the output is filled. */
function endRecord(runId: string, output: { length: number; sha256: string }) {
  const now = new Date().toISOString()
  return {
    run_id: runId,
    cause: 'exited' as const,
    exit_code: 0,
    signal: null,
    message: null,
    aborted: false,
    started_at: now,
    ended_at: now,
    output: { ...output, dropped_bytes: 0 },
    events: { length: 0, sha256: NOTHING, dropped: 0, errors: 0, plugin_seen: true },
  }
}

beforeAll(async () => {
  product = await startProduct({
    withAgent: false,
    controlPlane: { RTE_LOST_SECONDS: '1' },
    forms: {
      'own.yml': 'name: own\ntype: ansible\nroles: [default]\nplaybook: x.yml\nrunner: honest\nfields: []\n',
    },
  })
  url = product.address.replace(/^http/, 'ws') + SOCKET_PATH
})

afterAll(() => product.close())

describe('a foreign or broken runner', () => {
  test('cannot write to a job that is not its own, and harms nobody', async () => {
    const honest = await join('honest')
    const jobId = await product.launch('own')
    const { order } = await honest.agent.next('offer')
    honest.agent.say({ type: 'claimed', job_id: jobId, run_id: order.run_id })
    honest.agent.sendFrame(honest.epoch, jobId, 'honest ')
    await waitFor('the first piece to be stored', () => honest.agent.messages.some((message) => message.type === 'ack'))

    const attacks: ((attacker: { agent: RawAgent; epoch: number }) => void)[] = [
      ({ agent, epoch }) => agent.sendFrame(epoch, jobId, 'evil', 7),
      ({ agent }) => agent.say({ type: 'claimed', job_id: jobId, run_id: order.run_id }),
      ({ agent }) =>
        agent.say({ type: 'end', job_id: jobId, record: endRecord(order.run_id, { length: 0, sha256: NOTHING }) }),
      ({ agent }) => agent.say({ type: 'want', job_id: jobId, run_id: order.run_id, hashes: [order.manifest_sha256] }),
    ]
    for (const [index, attack] of attacks.entries()) {
      const attacker = await join(`attacker-${index}`)
      attack(attacker)
      expect(await attacker.agent.waitForClose()).toMatchObject({ reason: 'not_yours' })
    }

    honest.agent.sendFrame(honest.epoch, jobId, 'to the end', 7)
    const wrong = { length: 17, sha256: NOTHING }
    honest.agent.say({ type: 'end', job_id: jobId, record: endRecord(order.run_id, wrong) })
    // The hash is wrong: the control plane asks for everything again instead of believing either side.
    const rewind = await honest.agent.next('rewind')
    expect(rewind).toMatchObject({ job_id: jobId, to: 0 })
    const right = createHash('sha256').update('honest to the end').digest('hex')
    honest.agent.sendFrame(honest.epoch, jobId, 'honest to the end')
    honest.agent.say({ type: 'end', job_id: jobId, record: endRecord(order.run_id, { length: 17, sha256: right }) })
    await honest.agent.next('end_stored')
    expect(await product.admin.get(`/job/${jobId}?text=true`)).toMatchObject({
      status: 'success',
      detail: null,
      output: 'honest to the end',
    })
    await honest.agent.leave()
  })

  test('that answers with a job of another database keeps it until it has said what it knows of it', async () => {
    const foreign = { job_id: 1, run_id: 'f'.repeat(32) }
    const { agent } = await join('other-database', [{ ...foreign, output: 5, events: 0, ended: false }])
    const service = `SHA256:${'A'.repeat(43)}`
    agent.say({ type: 'orphan', ...foreign, ended: false, service, description: null })
    await waitFor('the admin to see it', async () => {
      const { records } = await product.admin.get<{ records: { run_id: string }[] }>('/runner/orphans')
      return records.some(({ run_id }) => run_id === foreign.run_id)
    })
    await agent.leave()
  })

  test('that is revoked loses its socket, and its job is given up with the reason', async () => {
    const { records } = await product.admin.get<{ records: { id: number; name: string }[] }>('/runner')
    const honest = records.find((runner) => runner.name === 'honest')
    await product.admin.request('DELETE', `/runner/${honest?.id}`)
    const { agent } = await join('honest')
    const jobId = await product.launch('own')
    const { order } = await agent.next('offer')
    agent.say({ type: 'claimed', job_id: jobId, run_id: order.run_id })
    const again = (await product.admin.get<{ records: { id: number; name: string }[] }>('/runner')).records
    const own = `/runner/${again.find((runner) => runner.name === 'honest')?.id}`
    expect((await product.admin.request('DELETE', own)).status).toBe(409)
    await product.admin.post(`${own}/revoke`)
    expect(await agent.waitForClose()).toMatchObject({ reason: 'revoked' })
    const job = await product.waitForEnd(jobId)
    expect(job).toMatchObject({ status: 'abandoned', status_reason: 'an admin revoked the runner while the job ran' })
    expect(job.abandoned_at).toBe(job.end)
    // What was given up is finished for an admin: the runner can be removed, so that it may ask again.
    expect((await product.admin.request('DELETE', own)).status).toBe(200)
  })

  test('that comes back with a job that was given up and deleted meanwhile is told to forget it', async () => {
    const identity = newIdentity('honest')
    const { token } = await product.admin.post<{ token: string }>('/runner/join-tokens', {})
    const first = await RawAgent.join(url, identity, { join_token: token })
    first.say({ type: 'inventory', jobs: [] })
    const jobId = await product.launch('own')
    const { order } = await first.next('offer')
    const ref = { job_id: jobId, run_id: order.run_id }
    first.say({ type: 'claimed', ...ref })
    await first.leave()
    expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'abandoned' })

    const second = await RawAgent.join(url, identity)
    const { epoch } = await second.next('welcome')
    second.say({ type: 'inventory', jobs: [{ ...ref, output: 4, events: 0, ended: false }] })
    expect((await second.next('resume')).jobs).toMatchObject([{ job_id: jobId, verdict: 'continue' }])
    expect((await product.admin.request('DELETE', `/job/${jobId}`)).status).toBe(200)
    second.sendFrame(epoch, jobId, 'text')
    expect(await second.next('forget')).toMatchObject(ref)
    second.sendFrame(epoch, jobId, 'more', 4)
    // Neither asked for again, nor an offence.
    expect(second.messages.filter((message) => message.type === 'rewind')).toEqual([])
    await second.leave()
  })
})
