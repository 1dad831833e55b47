import { describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { useApprovals } from './approval-fixture.js'

/** Who sees what waits for an approval. */
const approvals = useApprovals()
const { call, status, launch, jobOf, countOf, listed, clear } = approvals

describe('GET /job/approvals', () => {
  test('is a single JSON number: the waiting jobs whose approval the caller may give', async () => {
    covers('endpoint.approvals')
    await clear()
    await launch('eve', 'ops')
    await launch('eve', 'both')
    await launch('eve', 'nobody')
    await launch('eve', 'plain')
    const answer = await call('ann', 'GET', '/job/approvals')
    expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([
      200,
      '2',
      expect.stringContaining('application/json'),
    ])
    expect([await countOf('dan'), await countOf('eve'), await countOf('admin')]).toEqual([2, 0, 3])
  })

  test('a job with several of the caller’s roles counts once', async () => {
    await clear()
    await launch('eve', 'both')
    expect(await countOf('dan')).toBe(1)
  })

  test('a caller’s own job counts only with allowSelf, and for an admin always', async () => {
    covers('endpoint.approvals')
    await clear()
    await launch('ann', 'ops')
    expect([await countOf('ann'), await countOf('bob')]).toEqual([0, 1])
    await launch('ann', 'self')
    expect([await countOf('ann'), await countOf('bob')]).toEqual([1, 2])
    await clear()
    await launch('admin', 'ops')
    expect(await countOf('admin')).toBe(1)
  })

  test('an approval by default or public may be given by everyone', async () => {
    await clear()
    await launch('ann', 'anyone')
    expect([await countOf('eve'), await countOf('ann')]).toEqual([1, 0])
  })

  test('seeing or managing every job gives no approval', async () => {
    covers('endpoint.approvals')
    await clear()
    const id = await launch('eve', 'ops')
    for (const who of ['wat', 'max']) {
      expect(await countOf(who)).toBe(0)
      expect(await status(who, 'GET', `/job/${id}`)).toBe(200)
      for (const action of ['approve', 'reject']) expect(await status(who, 'POST', `/job/${id}/${action}`)).toBe(403)
    }
  })

  test('a decided job counts no more', async () => {
    await clear()
    for (const action of ['approve', 'reject']) {
      const id = await launch('eve', 'ops')
      expect(await countOf('ann')).toBe(1)
      await call('bob', 'POST', `/job/${id}/${action}`)
      expect([await countOf('ann'), await countOf('admin')]).toEqual([0, 0])
    }
    expect(await approvals.server.store.read.selectFrom('awaited_approval').selectAll().execute()).toEqual([])
  })
})

describe('the list', () => {
  test('a user sees their own jobs and those that wait for an approval which a role of theirs may give, newest first', async () => {
    covers('rule-6.approvals', 'rule-6.own', 'auth.approver', 'detail.filters')
    await clear()
    const own = await launch('ann', 'plain')
    const waiting = await launch('eve', 'ops')
    const ownWaiting = await launch('ann', 'ops')
    const others = await launch('eve', 'nobody')
    expect((await listed('ann')).slice(0, 3)).toEqual([ownWaiting, waiting, own])
    expect(await listed('ann')).not.toContain(others)
    expect(await listed('ann', '?records=2')).toEqual([ownWaiting, waiting])
    expect(await listed('ann', '?user=eve')).toEqual([waiting])
    expect(await listed('ann', '?user=eve&user_type=ldap')).toEqual([])
    expect(await listed('ann', '?runner=edge&user=eve')).toEqual([waiting])
    expect(await listed('ann', '?runner=other')).toEqual([])
    await call('bob', 'POST', `/job/${waiting}/approve`)
    expect(await listed('ann')).not.toContain(waiting)
    expect(await listed('bob')).not.toContain(waiting)
  })

  test('waiting=true lists what the caller may approve, as many as /job/approvals counts', async () => {
    covers('endpoint.approvals')
    await clear()
    const [first, second] = [await launch('eve', 'ops'), await launch('ann', 'self')]
    const own = await launch('ann', 'ops')
    expect(await listed('ann', '?waiting=true')).toEqual([second, first])
    expect(await listed('bob', '?waiting=true')).toEqual([own, second, first])
    expect(await listed('admin', '?waiting=true&records=1')).toEqual([own])
    expect(await listed('eve', '?waiting=true')).toEqual([])
    for (const who of ['ann', 'bob', 'eve', 'admin']) {
      expect(await countOf(who)).toBe((await listed(who, '?waiting=true')).length)
    }
  })
})

describe('reading a job as its approver', () => {
  const paths = ['', '?text=true', '?output=false']

  test('an approver sees everything of it while it waits, and others nothing', async () => {
    covers('auth.approver', 'detail.masked')
    const id = await launch('eve', 'ops', { host: 'web-1', key: 'hush' })
    for (const path of paths) expect(await status('ann', 'GET', `/job/${id}${path}`)).toBe(200)
    expect((await jobOf(id, 'ann')).extravars).toMatchObject({ host: 'web-1', key: '********' })
    const other = await launch('eve', 'nobody')
    for (const path of paths) expect(await status('ann', 'GET', `/job/${other}${path}`)).toBe(403)
    for (const action of ['abort', 'relaunch'])
      expect(await status('ann', 'POST', `/job/${id}/${action}`)).not.toBe(200)
    expect(await status('ann', 'DELETE', `/job/${id}`)).toBe(403)
  })

  test('afterwards only the approver who decided can see it', async () => {
    for (const action of ['approve', 'reject']) {
      const id = await launch('eve', 'ops')
      expect(await status('ann', 'POST', `/job/${id}/${action}`)).toBe(200)
      expect(await status('ann', 'GET', `/job/${id}`)).toBe(200)
      expect(await status('bob', 'GET', `/job/${id}`)).toBe(403)
    }
  })
})
