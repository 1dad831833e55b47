import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type ServerMessage, encodeFrame } from '@holdfast/protocol'
import { endedWell } from '../support/end-record.js'
import { type AgentIdentity, RawAgent, newIdentity } from '../support/raw-agent.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { statusesOf, waitForChain } from './kit/moves.js'
import { type FaultRule, PROGRAMS } from './kit/preload/faults.js'

/**
 * The control plane is killed around a commit, and an agent that keeps account of every word proves what was stored and
 * what was acknowledged: stored is never less than acknowledged, may be more, and is never doubled.
 */
const FIRST = Buffer.from('acknowledged: äöü 漢字\n')
const SECOND = Buffer.from('stored or not, and not acknowledged\n')
const WHOLE = Buffer.concat([FIRST, SECOND])

let chaos: ChaosProduct
let identity: AgentIdentity

type Ref = { readonly job_id: number; readonly run_id: string }

beforeAll(async () => {
  // Heartbeats of five minutes: what is committed here is what this agent says, and nothing else.
  chaos = await startChaos({ withAgent: false, controlPlane: { RTE_HEARTBEAT_SECONDS: '300' } })
  identity = newIdentity('raw')
  const agent = await RawAgent.join(socketUrl(), identity)
  const { records } = await chaos.product.admin.get<{ records: { id: number }[] }>('/runner')
  await chaos.product.admin.post(`/runner/${records[0]?.id ?? 0}/approve`)
  await agent.next('settings')
  await agent.leave()
})

afterEach(() => chaos.faults.disarmAll())
afterAll(() => chaos.close())

const socketUrl = () => `${chaos.product.address.replace('http', 'ws')}/api/v2/rte/socket`
const output = async (jobId: number) => (await chaos.product.admin.raw(`/job/${jobId}/output?offset=0`)).bytes
const acksOf = (agent: RawAgent) => agent.messages.filter((message) => message.type === 'ack')
const isEnded = (agent: RawAgent) => agent.messages.some((message) => message.type === 'end_stored')

/** Connects and lists what is in the spool. */
async function connect(spool: readonly Ref[], ended = false) {
  const agent = await RawAgent.join(socketUrl(), identity)
  const jobs = spool.map((ref) => ({ ...ref, output: WHOLE.length, events: 0, ended }))
  agent.say({ type: 'inventory', jobs })
  const resume = await agent.next('resume')
  return { agent, resumed: resume.jobs[0] }
}

function send(agent: RawAgent, epoch: number, jobId: number, offset: number, final = false): void {
  const payload = offset === 0 && !final ? FIRST : WHOLE.subarray(offset)
  agent.raw(encodeFrame({ kind: 'stream', stream: 'output', final, epoch, jobId, offset, payload }))
}

async function epochOf(agent: RawAgent): Promise<number> {
  return (await agent.next('welcome')).epoch
}

/** A job that is offered to a fresh connection. */
async function offered() {
  const { agent } = await connect([])
  const jobId = await chaos.product.launch('synthetic')
  const { order } = await waitFor('the offer', () =>
    agent.messages.find(
      (message): message is Extract<ServerMessage, { type: 'offer' }> =>
        message.type === 'offer' && message.order.job_id === jobId,
    ),
  )
  return { agent, epoch: await epochOf(agent), ref: { job_id: jobId, run_id: order.run_id } }
}

/** A job of which the first part is acknowledged. */
async function begun() {
  const { agent, epoch, ref } = await offered()
  agent.say({ type: 'claimed', ...ref })
  send(agent, epoch, ref.job_id, 0)
  await waitFor('the acknowledgement', () => acksOf(agent).some((ack) => ack.output === FIRST.length))
  return { agent, epoch, ref }
}

/** Does something that makes the control plane commit, in which it is killed; then starts it again. */
async function killedIn(rule: Pick<FaultRule, 'operation' | 'action'>, act: () => void): Promise<void> {
  await waitForChain(chaos.product)
  const fault = chaos.faults.arm({ ...rule, program: PROGRAMS.controlPlane, path: '*-wal', once: true })
  act()
  expect((await chaos.product.controlPlane.exited).signal).toBe('SIGKILL')
  expect(fault.wasMet()).toBe(true)
  await chaos.product.startControlPlane()
}

/** Sends everything once more, then the end, and expects every byte once. */
async function expectWholeOnce(ref: Ref): Promise<void> {
  const { agent, resumed } = await connect([ref])
  expect(resumed).toMatchObject({ verdict: 'continue' })
  const epoch = await epochOf(agent)
  send(agent, epoch, ref.job_id, 0)
  send(agent, epoch, ref.job_id, 0, true)
  agent.say({ type: 'end', job_id: ref.job_id, record: endedWell(ref.run_id, WHOLE) })
  await waitFor('the end to be stored', () => isEnded(agent))
  expect(await output(ref.job_id)).toEqual(WHOLE)
  expect(await statusesOf(chaos.product, ref.job_id)).toEqual(['running', 'success'])
  await agent.leave()
}

const MOMENTS = [
  { moment: 'before it is written', operation: 'write', action: 'kill-before', stored: [FIRST.length] },
  // What is written and not synced is lost with the machine, not with the process.
  { moment: 'before it is synced', operation: 'sync', action: 'kill-before', stored: [FIRST.length, WHOLE.length] },
  { moment: 'before the acknowledgement', operation: 'sync', action: 'kill-after', stored: [WHOLE.length] },
] as const

describe('the control plane is killed', () => {
  test.each(MOMENTS)('in the commit of a piece, $moment: nothing is lost or stored twice', async (moment) => {
    const { agent, epoch, ref } = await begun()
    await killedIn(moment, () => send(agent, epoch, ref.job_id, FIRST.length))
    expect(acksOf(agent).every((ack) => ack.output === FIRST.length)).toBe(true)
    const { agent: again, resumed } = await connect([ref])
    expect(moment.stored).toContain(resumed?.output)
    expect(await output(ref.job_id)).toEqual(WHOLE.subarray(0, resumed?.output))
    await again.leave()
    await expectWholeOnce(ref)
  })

  test.each(MOMENTS)(
    'in the commit of a claim, $moment: the job goes on at the runner that claimed it',
    async (moment) => {
      const { agent, ref } = await offered()
      await killedIn(moment, () => agent.say({ type: 'claimed', ...ref }))
      await expectWholeOnce(ref)
    },
  )

  test('between the end and end_stored: the runner learns that the end is stored', async () => {
    const { agent, epoch, ref } = await begun()
    send(agent, epoch, ref.job_id, FIRST.length, true)
    await waitFor('the acknowledgement', () => acksOf(agent).some((ack) => ack.output === WHOLE.length))
    await killedIn({ operation: 'sync', action: 'kill-after' }, () =>
      agent.say({ type: 'end', job_id: ref.job_id, record: endedWell(ref.run_id, WHOLE) }),
    )
    expect(isEnded(agent)).toBe(false)
    expect((await chaos.product.admin.get(`/job/${ref.job_id}`)).status).toBe('success')
    const { agent: again, resumed } = await connect([ref], true)
    expect(resumed).toMatchObject({ verdict: 'stored' })
    expect(await output(ref.job_id)).toEqual(WHOLE)
    expect(await statusesOf(chaos.product, ref.job_id)).toEqual(['running', 'success'])
    await again.leave()
  })
})
