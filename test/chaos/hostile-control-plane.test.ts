import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeFrame } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import type { Connected, StoredJob } from '../agent/fake-control-plane.js'
import { leaveTrace, orderOf, play, publish, say, waitFor } from '../agent/playbooks.js'
import { type Setting, createSetting, exactEnd } from '../agent/setting.js'
import { waitUntil } from '../agent/waiting.js'
import { type Chance, seeded } from './kit/seed.js'

/** Point 17 from the other side: whatever a control plane sends, the agent lives and the playbook goes on, once. */
const NO_HASH = '0'.repeat(64)
const HUGE = 2 ** 53 - 1

interface Scene {
  readonly setting: Setting
  readonly job: StoredJob
  readonly chance: Chance
  readonly at: Connected
}

/** What breaks the contract: the agent closes this connection and dials again. */
const BREACHES: Readonly<Record<string, (scene: Scene) => string | Buffer>> = {
  'random bytes': ({ chance }) => randomBytes(chance, 400),
  'random text': ({ chance }) => randomBytes(chance, 400).toString('latin1'),
  'an unknown message': () => '{"type":"destroy"}',
  'a second challenge': () => JSON.stringify({ type: 'challenge', nonce: '', time: 0, contract: 1, version: '' }),
  'wrong types': () => '{"type":"ack","job_id":"1","output":-1,"events":null}',
  'arrays 200,000 deep': () => `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
  'a stream frame': ({ at }) =>
    encodeFrame({
      kind: 'stream',
      stream: 'output',
      final: false,
      epoch: at.epoch,
      jobId: 1,
      offset: 0,
      payload: Buffer.from('x'),
    }),
  'a blob that ends before it begins': () => {
    const frame = encodeFrame({ kind: 'blob', sha256: NO_HASH, offset: 0, size: 1, payload: Buffer.from('x') })
    frame.writeBigUInt64BE(0n, 44)
    return frame
  },
}

function randomBytes(chance: Chance, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => chance.between(0, 255)))
}

/** What keeps to the contract and makes no sense: it is passed over, or refused. */
function sendNonsense({ setting: { controlPlane }, job }: Scene): void {
  const { job_id } = job.order
  const unknown = { job_id: HUGE, run_id: 'f'.repeat(32) }
  controlPlane.send({ type: 'abort', ...unknown })
  controlPlane.send({ type: 'abort', job_id, run_id: 'f'.repeat(32) })
  controlPlane.send({ type: 'forget', ...unknown })
  controlPlane.send({ type: 'end_stored', job_id, run_id: 'e'.repeat(32) })
  controlPlane.send({ type: 'blob_gone', ...unknown, sha256: NO_HASH })
  controlPlane.send({ type: 'ack', job_id: HUGE, output: HUGE, events: HUGE })
  controlPlane.send({
    type: 'resume',
    jobs: [{ ...unknown, verdict: 'continue', output: HUGE, events: HUGE, abort: true }],
  })
  const frame = { kind: 'blob', sha256: 'a'.repeat(64), offset: 0, size: HUGE, payload: Buffer.from('not it') } as const
  controlPlane.connected?.send(encodeFrame(frame))
}

/** Offers that lead out of the playbook folder, by each of their parts. */
function offerEscapes({ controlPlane, folder }: Setting): StoredJob[] {
  const files = { 'site.yml': play(leaveTrace(join(folder, 'escaped'))) }
  const good = publish(controlPlane, files)
  const outside = { 'site.yml': files['site.yml'], '../outside.yml': files['site.yml'] }
  const link = { path: 'link', target: '/etc' }
  return [
    orderOf(good, { playbook: '../../../../../etc/passwd' }),
    orderOf(good, { playbook: '/etc/passwd' }),
    orderOf(good, { playbook_sub_path: '../..' }),
    orderOf(good, { inventory: ['/etc/passwd'] }),
    orderOf(good, { limit: '@/etc/passwd' }),
    orderOf(publish(controlPlane, outside)),
    orderOf(publish(controlPlane, files, { links: [link] })),
    orderOf(publish(controlPlane, files, { folders: [{ path: '../outside', mode: 0o777 }] })),
    orderOf(publish(controlPlane, { 'way/out.yml': files['site.yml'] }, { links: [{ path: 'way', target: '.' }] })),
    orderOf(publish(controlPlane, files, { folders: [{ path: 'site.yml/inside', mode: 0o755 }] })),
    orderOf(publish(controlPlane, { 'a\nb.yml': files['site.yml'] })),
    orderOf(controlPlane.addBlob('no manifest')),
    orderOf(NO_HASH),
  ].map((order) => controlPlane.offer(order))
}

const name = 'an agent with a running playbook survives whatever its control plane sends'
test(
  name,
  seeded('test/chaos/hostile-control-plane.test.ts', name, async (chance) => {
    const setting = await createSetting()
    const { controlPlane, folder } = setting
    // A connection counts when it has lasted a heartbeat; after shorter ones the agent would wait longer and longer.
    controlPlane.heartbeatMs = 400
    const agent = await setting.join()
    const tasks = [leaveTrace(join(folder, 'trace')), say('before'), waitFor(join(folder, 'go')), say('after')]
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(...tasks) })))
    await waitUntil('it prints', () => controlPlane.stored(job, 'output').includes('before'))

    for (const [what, breach] of chance.shuffle(Object.entries(BREACHES))) {
      const at = await controlPlane.isConnected()
      const statuses = controlPlane.statuses.length
      await waitUntil('some heartbeats', () => controlPlane.statuses.length > statuses + 2)
      at.send(breach({ setting, job, chance, at }))
      await waitUntil(`the agent ends the connection over ${what}`, () => controlPlane.connected !== at)
    }

    const at = await controlPlane.isConnected()
    await waitUntil('the inventory', () => controlPlane.inventories.length >= at.epoch)
    sendNonsense({ setting, job, chance, at })
    for (const { order, refusals, claims, end } of await escapesAnswered(setting)) {
      expect(refusals.length + claims, JSON.stringify(order)).toBeGreaterThan(0)
      if (claims > 0) expect(end).toMatchObject({ cause: 'not_started' })
    }
    for (const stream of ['output', 'events'] as const)
      controlPlane.send({ type: 'rewind', job_id: job.order.job_id, stream, to: HUGE })
    controlPlane.send({ type: 'ack', job_id: job.order.job_id, output: HUGE, events: HUGE })
    // The next connection says what is stored in truth.
    const inventories = controlPlane.inventories.length
    controlPlane.cut()
    await waitUntil('the agent to be back', () => controlPlane.inventories.length > inventories)
    writeFileSync(join(folder, 'go'), '')
    const end = await exactEnd(controlPlane, job)
    expect(end).toMatchObject({ cause: 'exited', exit_code: 0 })
    expect(end.text).toContain('after')
    expect(readFileSync(join(folder, 'trace'), 'utf8')).toBe('run\n')
    expect(existsSync(join(folder, 'escaped'))).toBe(false)
    expect(readdirSync(folder)).not.toContain('outside.yml')
    expect(agent.log.filter((line) => line.msg === 'agent starts')).toHaveLength(1)
    agent.signal('SIGTERM')
    expect(await agent.exited()).toEqual({ code: 0, signal: null })
  }),
)

async function escapesAnswered(setting: Setting): Promise<StoredJob[]> {
  const jobs = offerEscapes(setting)
  for (const job of jobs)
    await waitUntil(`an answer to ${JSON.stringify(job.order)}`, () => job.refusals.length > 0 || job.end !== null)
  return jobs
}
