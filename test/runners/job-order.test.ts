import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MAX_INLINE_BYTES } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { approvedNeedsOf, fileNeedsOf, prepareOrder } from '../../control-plane/src/runners/offers/job-order.js'
import { findJob } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { notePastRuns } from '../../control-plane/src/store/jobs/orphans.js'
import { insertJoinToken } from '../../control-plane/src/store/runners/join-tokens.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { removeOldEntries } from '../support/ages.js'
import { openTestStore } from '../support/test-database.js'
import { queuedJob } from './queued-job.js'

/** What an order says, and what is given up or removed after its time. */
const RUN = 'a'.repeat(32)
const DAY_MS = 24 * 60 * 60 * 1000
const NOW = 1000 * DAY_MS

let folder: string
let store: Store
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-order-'))
  store = await openTestStore(folder)
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

async function jobWith(columns: object, playbook: object = {}) {
  const id = await store.write('test', (queries) => insertJob(queries, { ...queuedJob(7, RUN, playbook), ...columns }))
  const job = await findJob(store.read, id)
  if (!job) throw new Error('the job is gone')
  return job
}

describe('an order', () => {
  const settings = { outputLimitBytes: 1000, uploadPath: '/uploads' }
  const none = { sealed: null, names: [] }

  /** The order of a job whose variables are so many bytes of JSON. */
  async function ofBytes(bytes: number) {
    const job = await jobWith({})
    const empty = Buffer.byteLength(JSON.stringify({ a: '', __jobid__: job.id }))
    const extravars = JSON.stringify({ a: 'x'.repeat(bytes - empty) })
    return prepareOrder({ ...job, extravars }, { files: [], secrets: none }, 'm', settings)
  }

  test('carries variables up to their limit, and larger ones are a blob', async () => {
    const inline = await ofBytes(MAX_INLINE_BYTES)
    expect([inline.extravarsBlob, 'inline' in inline.order.extravars]).toEqual([null, true])
    const large = await ofBytes(MAX_INLINE_BYTES + 1)
    expect(large.extravarsBlob?.length).toBe(MAX_INLINE_BYTES + 1)
    expect(large.order.extravars).toMatchObject({ size: MAX_INLINE_BYTES + 1 })
  })

  test('has no mask in place of a secret, and says where it stood, up to a limit', async () => {
    const job = await jobWith({ extravars: JSON.stringify({ open: 1, secret: '***' }) })
    const secrets = { sealed: 'sealed', names: ['secret', 'another'] }
    const { order } = prepareOrder(job, { files: [], secrets }, 'm', settings)
    expect(order).toMatchObject({ sealed: 'sealed', extravars: { inline: { open: 1, __jobid__: job.id } } })
    expect(order.extravars).not.toHaveProperty('inline.secret')
    expect(order.launched).toMatchObject({ user: 'ann', user_type: 'local', masked: { secret: '***' } })
    const maskedOf = (characters: number) => {
      const extravars = JSON.stringify({ secret: 'x'.repeat(characters - JSON.stringify({ secret: '' }).length) })
      return Object.keys(
        prepareOrder({ ...job, extravars }, { files: [], secrets }, 'm', settings).order.launched?.masked ?? {},
      )
    }
    expect([maskedOf(65_536), maskedOf(65_537)]).toEqual([['secret'], []])
  })

  test('needs its playbook and its inventories, and no list of hosts', async () => {
    const job = await jobWith({}, { playbookSubPath: 'sub', inventory: ['hosts.ini', 'one,two', 'three,'] })
    const needs = { form: 'f', playbook: 'sub/x.yml', workingFolder: 'sub', inventories: ['sub/hosts.ini'] }
    expect(fileNeedsOf(job)).toMatchObject(needs)
    expect(fileNeedsOf(await jobWith({ run_id: 'b'.repeat(32) }))).toMatchObject({
      playbook: 'x.yml',
      workingFolder: '',
    })
  })

  test.each([
    ['ansible', null, false],
    ['ansible', 5, true],
    ['multistep', null, true],
    ['workflow', null, true],
  ] as const)(
    'the approval of a job of type %s with the parent %s covers all files: %s',
    (job_type, parent_id, isAll) => {
      const job = { ...queuedJob(7, RUN), job_type, parent_id }
      expect(approvedNeedsOf(job).files?.includes('') ?? false).toBe(isAll)
    },
  )
})

describe('what nobody needs any more', () => {
  test('tokens go 30 days after their time, and runs after 90 days', async () => {
    await store.write('test', async (queries) => {
      const token = { name: null, createdAt: 1, createdBy: 'root' }
      await insertJoinToken(queries, { ...token, hash: 'old', expiresAt: NOW - 30 * DAY_MS - 1 })
      await insertJoinToken(queries, { ...token, hash: 'kept', expiresAt: NOW - 30 * DAY_MS })
      await notePastRuns(queries, [{ runId: 'old', how: 'asked' }], NOW - 90 * DAY_MS - 1)
      await notePastRuns(queries, [{ runId: 'kept', how: 'asked' }], NOW - 90 * DAY_MS)
    })
    await removeOldEntries(store, { now: () => NOW })
    expect(await store.read.selectFrom('join_token').select('hash').execute()).toEqual([{ hash: 'kept' }])
    expect(await store.read.selectFrom('past_run').select('run_id').execute()).toEqual([{ run_id: 'kept' }])
  })
})
