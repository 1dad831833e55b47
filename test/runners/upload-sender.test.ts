import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MAX_PAYLOAD_BYTES } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { UploadSender } from '../../control-plane/src/runners/offers/upload-sender.js'
import type { PreparedOrder } from '../../control-plane/src/runners/held/prepared-order.js'
import { type UploadFolder, openUploadFolder } from '../../control-plane/src/uploads/upload-folder.js'
import { orderOf } from '../agent/playbooks.js'
import type { RawAgent } from '../support/raw-agent.js'
import { waitFor } from '../support/wait.js'
import { type HubFixture, startHub } from './hub-fixture.js'

let fixture: HubFixture
let agent: RawAgent
let path: string
let folder: UploadFolder

beforeEach(async () => {
  fixture = await startHub()
  agent = await fixture.approved('edge-1')
  path = mkdtempSync(join(tmpdir(), 'holdfast-uploads-'))
  folder = await openUploadFolder({ path, random: randomBytes })
})
afterEach(async () => {
  await fixture.close()
  rmSync(path, { recursive: true })
})

function connection() {
  const session = fixture.sessions[0]
  if (!session) throw new Error('there is no session')
  return session.connection
}

/** A job with one upload of this content. */
async function prepared(content: Buffer): Promise<{ order: PreparedOrder; sha256: string }> {
  const writer = await folder.begin(0)
  await writer.write(content)
  const { storedName, sha256, size } = await writer.keep()
  const order = orderOf('0'.repeat(64))
  const file = {
    id: 1,
    job_id: order.job_id,
    field: 'f',
    stored_name: storedName,
    sha256,
    size,
    used: 1,
    created_at: 1,
    owner_id: 1,
    owner_name: 'ann',
    owner_type: 'local',
    original_name: 'a',
    mime_type: 'text/plain',
    encoding: '7bit',
  }
  return { order: { order, extravarsBlob: null, files: [file] }, sha256 }
}

const want = ({ order }: PreparedOrder, sha256: string, offset = 0) =>
  ({ type: 'want_upload', job_id: order.job_id, run_id: order.run_id, sha256, offset }) as const

function received(sha256: string) {
  return agent.frames.flatMap((frame) => (frame.kind === 'blob' && frame.sha256 === sha256 ? [frame] : []))
}
const bytesOf = (sha256: string) => Buffer.concat(received(sha256).map(({ payload }) => payload))

test('an upload is sent from the requested byte on, in frames with the whole size', async () => {
  const content = randomBytes(3 * MAX_PAYLOAD_BYTES + 5)
  const { order, sha256 } = await prepared(content)
  new UploadSender(connection(), folder, fixture.log).send(order, want(order, sha256, 1000))
  await waitFor('the rest', () => bytesOf(sha256).length === content.length - 1000)
  expect(bytesOf(sha256).equals(content.subarray(1000))).toBe(true)
  expect(received(sha256)[0]).toMatchObject({ offset: 1000, size: content.length })
})

test('uploads and other blobs take turns: a huge file delays no other job', async () => {
  const sender = new UploadSender(connection(), folder, fixture.log)
  const [one, other] = [await prepared(randomBytes(64 * MAX_PAYLOAD_BYTES)), await prepared(randomBytes(1000))]
  sender.send(one.order, want(one.order, one.sha256))
  sender.send(other.order, want(other.order, other.sha256))
  await waitFor('the first', () => received(one.sha256).length === 64)
  const small = agent.frames.findIndex((frame) => frame.kind === 'blob' && frame.sha256 === other.sha256)
  expect(small).toBeGreaterThanOrEqual(0)
  expect(small).toBeLessThan(60)
})

test('a second request starts the file again from its offset, and ends the first sending', async () => {
  const { order, sha256 } = await prepared(randomBytes(40 * MAX_PAYLOAD_BYTES))
  const other = await prepared(randomBytes(64 * MAX_PAYLOAD_BYTES))
  const sender = new UploadSender(connection(), folder, fixture.log)
  const last = 39 * MAX_PAYLOAD_BYTES
  for (const offset of [0, last]) sender.send(order, want(order, sha256, offset))
  sender.send(other.order, want(other.order, other.sha256))
  // They take turns: the shorter file would be over by then.
  await waitFor('the longer file', () => received(other.sha256).length === 64)
  expect(received(sha256).map(({ offset }) => offset)).toEqual([last])
})

test.each<[string, (stored: string, sha256: string) => { sha256?: string; offset?: number }]>([
  [
    'a file that is gone',
    (stored) => {
      rmSync(stored)
      return {}
    },
  ],
  ['an upload that is none of the job’s', () => ({ sha256: 'b'.repeat(64) })],
  ['an offset behind the end', () => ({ offset: 1_000_000 })],
])('%s is answered with blob_gone', async (_what, spoil) => {
  const { order, sha256 } = await prepared(randomBytes(1000))
  const change = spoil(join(path, order.files[0]?.stored_name ?? ''), sha256)
  const message = { ...want(order, sha256), ...change }
  new UploadSender(connection(), folder, fixture.log).send(order, message)
  expect(await agent.next('blob_gone')).toMatchObject({ job_id: order.order.job_id, sha256: message.sha256 })
  expect(agent.frames).toEqual([])
})
