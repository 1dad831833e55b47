import { describe, expect, test } from 'vitest'
import type { JobVault } from '../../../control-plane/src/credentials/job/sealed-values.js'
import { sealOpenJobs } from '../../../control-plane/src/jobs/secrets/carried-over.js'
import { MASK } from '../../../control-plane/src/jobs/secrets/masking.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import type { Queries, Store } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'

/** Jobs of an older release have their passwords in their rows, in clear. */
async function made() {
  const queries = await memoryDatabase()
  const sealed: Parameters<JobVault['seal']>[] = []
  let runs = 0
  let writes = 0
  const store = {
    read: queries,
    write(_: string, task: (queries: Queries) => unknown) {
      writes += 1
      return task(queries)
    },
  } as unknown as Store
  const vault: Pick<JobVault, 'seal'> = {
    seal(...given) {
      sealed.push(given)
      return Buffer.from('sealed')
    },
  }
  return {
    queries,
    sealed,
    writes: () => writes,
    seal: () => sealOpenJobs(store, vault),
    add(extravars: object, keys: readonly string[], changes: Partial<NewJob> = {}): Promise<number> {
      const row = queuedJob(1, String((runs += 1)).padStart(32, '0'))
      const texts = { extravars: JSON.stringify(extravars), password_fields: JSON.stringify(keys) }
      return insertJob(queries, { ...row, ...texts, ...changes })
    },
    async row(id: number) {
      const columns = ['extravars', 'raw_form_data', 'approval'] as const
      const job = await queries.selectFrom('job').select(columns).where('id', '=', id).executeTakeFirstOrThrow()
      return Object.values(job).map((text) => (text === null ? null : (JSON.parse(text) as unknown)))
    },
    secrets: () => queries.selectFrom('job_secret').select('job_id').execute(),
  }
}

describe('the passwords of a job that has not ended', () => {
  test('are sealed for its run and masked in its texts, once', async () => {
    const { seal, add, row, sealed, secrets } = await made()
    const id = await add({ pw: 'long secret', url: 'to long secret', a: 1 }, ['pw'], {
      raw_form_data: JSON.stringify({ url: 'to long secret', a: 1 }),
      approval: JSON.stringify({ title: 'to long secret' }),
    })
    expect([await seal(), await seal()]).toEqual([1, 0])
    const shown = { pw: MASK, url: MASK, a: 1 }
    expect(await row(id)).toEqual([shown, { url: MASK, a: 1 }, { title: MASK }])
    const variables = { pw: 'long secret', url: 'to long secret' }
    expect(sealed).toEqual([['1'.padStart(32, '0'), { variables, hidden: ['long secret'] }]])
    expect(await secrets()).toEqual([{ job_id: id }])
  })

  test('need no field values and no approval', async () => {
    const { seal, add, row } = await made()
    const id = await add({ pw: 'long secret' }, ['pw'])
    expect(await seal()).toBe(1)
    expect(await row(id)).toEqual([{ pw: MASK }, null, null])
  })

  test.each<[string, object, object, readonly string[]]>([
    ['a number', { pw: 123_456 }, { pw: MASK }, ['123456']],
    ['a list', { pw: ['first one', 'second one'] }, { pw: [MASK, MASK] }, ['first one', 'second one']],
    ['an object', { pw: { below: 'long secret' } }, { pw: { below: MASK } }, ['long secret']],
    ['below other values', { a: [{ pw: 'long secret' }] }, { a: [{ pw: MASK }] }, ['long secret']],
    [
      'beside what is no password',
      { pw: [true, null, '', 'long secret'] },
      { pw: [true, null, '', MASK] },
      ['long secret'],
    ],
  ])('may be %s', async (_, extravars, shown, hidden) => {
    const { seal, add, row, sealed } = await made()
    const id = await add({ ...extravars, other: 'plain' }, ['pw'])
    expect(await seal()).toBe(1)
    expect((await row(id))[0]).toEqual({ ...shown, other: 'plain' })
    expect(sealed[0]?.[1].hidden).toEqual(hidden)
  })

  test('are no values of the user who launched it', async () => {
    const { seal, add, row } = await made()
    const extravars = { ansibleforms_user: { pw: 'the same text' }, note: 'the same text' }
    const id = await add(extravars, ['pw'])
    expect(await seal()).toBe(0)
    expect((await row(id))[0]).toEqual(extravars)
  })

  test('are no entries of a list whose place is called as the field', async () => {
    const { seal, add, row } = await made()
    const id = await add({ list: ['a plain text'] }, ['0'])
    await seal()
    expect((await row(id))[0]).toEqual({ list: ['a plain text'] })
  })

  test('are not looked for where there is nothing, or where they are masked already', async () => {
    const { seal, add, row, secrets, writes } = await made()
    expect(await seal()).toBe(0)
    expect(writes()).toBe(0)
    const empty = await add({ pw: '', a: 1 }, ['pw'])
    const masked = await add({ pw: 'long secret', a: MASK }, ['pw'])
    await add({ pw: 'long secret' }, ['pw'], { status: 'success', dispatch: 'done' })
    await add({ pw: 'long secret' }, [])
    expect(await seal()).toBe(0)
    expect((await row(empty))[0]).toEqual({ pw: '', a: 1 })
    expect((await row(masked))[0]).toEqual({ pw: 'long secret', a: MASK })
    expect(await secrets()).toEqual([])
  })

  test('of many jobs are counted', async () => {
    const { seal, add } = await made()
    for (let count = 0; count < 3; count += 1) await add({ pw: 'long secret' }, ['pw'])
    await add({ a: 1 }, ['pw'])
    expect(await seal()).toBe(3)
  })
})
