import { beforeEach, describe, expect, test } from 'vitest'
import {
  type AuditLink,
  appendToChain,
  chainHashAt,
  countUnchained,
  deleteAuditBefore,
  findUnchained,
  readAuditChain,
  readChained,
} from '../../../control-plane/src/store/audit/audit-chain.js'
import { noteExported, takeExportTurn } from '../../../control-plane/src/store/audit/audit-export.js'
import { type AuditEntry, completeAudit, insertAudit, listAudit } from '../../../control-plane/src/store/audit/audit.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { memoryDatabase } from '../../support/memory-database.js'

let queries: Queries

beforeEach(async () => {
  queries = await memoryDatabase()
})

const ENTRY: AuditEntry = {
  time: 10,
  user: { name: 'ann', type: 'local', id: 1 },
  address: '::1',
  action: 'job.abort',
  status: 200,
  requestId: 'r',
  object: { kind: 'job', id: '1', name: null },
}
const put = (entry: Partial<AuditEntry> = {}) => insertAudit(queries, { ...ENTRY, ...entry })
const ids = (rows: readonly { readonly id: number }[]) => rows.map(({ id }) => id)

describe('the records of the audit trail', () => {
  test('are found by user, action and age, the newest first', async () => {
    const one = await put()
    const two = await put({ user: { name: 'ann', type: 'ldap', id: 2 } })
    const three = await put({ user: { name: 'bob', type: 'local', id: 3 }, action: 'job.launch' })
    const four = await put({ user: null })
    const list = async (filter: Parameters<typeof listAudit>[1], limit = 10) =>
      ids(await listAudit(queries, filter, limit))
    expect(await list({})).toEqual([four, three, two, one])
    expect(await list({}, 2)).toEqual([four, three])
    expect(await list({ before: three })).toEqual([two, one])
    expect(await list({ user: 'ann' })).toEqual([two, one])
    expect(await list({ user: 'ann', userType: 'ldap' })).toEqual([two])
    expect(await list({ userType: 'local' })).toEqual([three, one])
    expect(await list({ action: 'job.launch' })).toEqual([three])
    expect((await listAudit(queries, {}, 10)).map(({ user }) => user)).toEqual([
      null,
      { name: 'bob', type: 'local', id: 3 },
      { name: 'ann', type: 'ldap', id: 2 },
      { name: 'ann', type: 'local', id: 1 },
    ])
  })

  test('are completed, or followed by another one when they are in the chain already', async () => {
    const [open, chained] = [await put({ status: null }), await put({ status: null })]
    await appendToChain(queries, await readAuditChain(queries), [link(chained, 1, null)])
    for (const id of [open, chained]) await completeAudit(queries, id, { ...ENTRY, status: 201 })
    expect((await listAudit(queries, {}, 10)).map(({ id, status }) => [id, status])).toEqual([
      [chained + 1, 201],
      [chained, null],
      [open, 201],
    ])
  })
})

function link(id: number, position: number, status: number | null = 200): AuditLink {
  return { id, status, position, hash: `hash ${position}` }
}

/** Records at these times, all in the chain. */
async function chainOf(times: readonly number[]): Promise<void> {
  const links: AuditLink[] = []
  for (const [index, time] of times.entries()) links.push(link(await put({ time }), index + 1))
  await appendToChain(queries, await readAuditChain(queries), links)
}

describe('the chain of the audit trail', () => {
  test('takes records that are complete, and those that nobody completed for long', async () => {
    const done = await put({ time: 50 })
    const old = await put({ status: null, time: 19 })
    await put({ status: null, time: 20 })
    expect(ids(await findUnchained(queries, 20, 10))).toEqual([done, old])
    expect(ids(await findUnchained(queries, 20, 1))).toEqual([done])
    expect(await countUnchained(queries)).toBe(3)
    await appendToChain(queries, await readAuditChain(queries), [link(done, 1)])
    expect(ids(await findUnchained(queries, 20, 10))).toEqual([old])
    expect(await countUnchained(queries)).toBe(2)
  })

  test('grows at its end, for the one who knows the end', async () => {
    const before = await readAuditChain(queries)
    const [one, two] = [await put(), await put()]
    expect(await appendToChain(queries, before, [])).toBe(true)
    expect(await readAuditChain(queries)).toEqual(before)
    expect(await appendToChain(queries, before, [link(one, 1), link(two, 2)])).toBe(true)
    expect(await readAuditChain(queries)).toMatchObject({ head_position: 2, head_hash: 'hash 2', anchor_position: 0 })
    expect(await appendToChain(queries, before, [link(await put(), 1)])).toBe(false)
    expect(await appendToChain(queries, { ...before, head_position: 2 }, [link(await put(), 3)])).toBe(false)
    expect(ids(await readChained(queries, 0, 10))).toEqual([one, two])
    expect(ids(await readChained(queries, 0, 1))).toEqual([one])
    expect(ids(await readChained(queries, 1, 10))).toEqual([two])
    expect([await chainHashAt(queries, 2), await chainHashAt(queries, 3)]).toEqual(['hash 2', null])
  })

  test.each([
    ['got a status', null, 200],
    ['has another status', 200, 201],
    ['lost its status', 200, null],
  ])('refuses a record that %s since it was read', async (_what, read, now) => {
    const id = await put({ status: now })
    await expect(appendToChain(queries, await readAuditChain(queries), [link(id, 1, read)])).rejects.toMatchObject({
      code: 'audit_record_changed',
    })
  })

  test('refuses a record that is in it', async () => {
    await chainOf([1])
    const [first] = await readChained(queries, 0, 1)
    const append = async () => appendToChain(queries, await readAuditChain(queries), [link(first?.id ?? 0, 2)])
    await expect(append()).rejects.toMatchObject({ code: 'audit_record_changed' })
  })

  test.each([
    ['up to the first one that is not older', [1, 2, 30, 3], 30, 2],
    ['of one moment before', [29, 30], 30, 1],
    ['over one from the future', [1, 101, 2, 40], 30, 3],
    ['but a record of this very moment stops it', [1, 100, 2], 30, 1],
    ['all when all are old', [1, 2], 30, 2],
    ['at most some', [1, 2, 3, 4, 5], 30, 4],
    ['none when the first one is young', [40, 1], 30, 0],
    ['none when there is none', [], 30, 0],
  ])('loses its beginning %s', async (_what, times, time, count) => {
    await chainOf(times)
    expect(await deleteAuditBefore(queries, { time, now: 100, most: 4 })).toBe(count)
    expect((await readChained(queries, 0, 10)).map((record) => record.time)).toEqual(times.slice(count))
    const chain = await readAuditChain(queries)
    expect(chain.anchor_position).toBe(count)
    if (count > 0) expect(chain.anchor_hash).toBe(`hash ${count}`)
  })

  test('loses no record that is outside of it', async () => {
    await chainOf([1])
    const open = await put({ time: 1 })
    await deleteAuditBefore(queries, { time: 30, now: 100, most: 4 })
    expect(ids(await listAudit(queries, {}, 10))).toEqual([open])
    // The next time it begins behind what is gone.
    await appendToChain(queries, await readAuditChain(queries), [link(open, 2)])
    expect(await deleteAuditBefore(queries, { time: 30, now: 100, most: 4 })).toBe(1)
    expect((await readAuditChain(queries)).anchor_position).toBe(2)
  })
})

describe('the export of the audit trail', () => {
  const turn = (holder: string, now: number) =>
    takeExportTurn(queries, { name: 'syslog', holder, now, until: now + 10 })

  test('is one node at a time', async () => {
    expect([await turn('a', 10), await turn('a', 11), await turn('b', 21)]).toEqual([true, true, false])
    expect([await turn('b', 22), await turn('a', 23)]).toEqual([true, false])
  })

  test('goes on, never back', async () => {
    await turn('a', 10)
    const position = async () =>
      (await queries.selectFrom('audit_export').selectAll().executeTakeFirstOrThrow()).position
    await noteExported(queries, 'syslog', 5)
    await noteExported(queries, 'syslog', 4)
    await noteExported(queries, 'other', 9)
    expect(await position()).toBe(5)
    await turn('a', 11)
    expect(await position()).toBe(5)
  })
})
