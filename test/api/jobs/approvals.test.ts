import { describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { addRunner } from '../runner-row.js'
import { CONFIG, FORMS, form, useApprovals } from './approval-fixture.js'

/** Approvals: who may give them, and that each is decided once. */
const approvals = useApprovals()
const { call, status, launch, jobOf, rowOf, countOf, clear } = approvals

const HASH = /^[0-9a-f]{64}$/

describe('a form with an approval', () => {
  test('launches a job with status approve, which is in no queue and shows what it waits for', async () => {
    covers('service.approval-first', 'status.approve', 'approval.before', 'detail.end-null')
    const id = await launch('eve', 'ops', { host: 'web-1', key: 'hush', login: 'hush' })
    expect(await rowOf(id)).toMatchObject({ status: 'approve', dispatch: 'parked', end_time: null, wait_until: null })
    const job = await jobOf(id, 'eve')
    expect(job).toMatchObject({ status: 'approve', end: null, runner: 'edge' })
    expect(job.approval).toEqual({
      title: 'Deploy web-1',
      message: 'With ******** and ******** to $(nowhere)',
      roles: ['ops'],
      notifications: [],
      allowSelf: false,
      state: 'waiting',
      decided_by: null,
      decided_by_type: null,
      decided_at: null,
      subject: { manifest_sha256: expect.stringMatching(HASH), form_sha256: expect.stringMatching(HASH) },
      forced: false,
    })
    expect(job.output).toContain('APPROVE [Deploy web-1] ****')
    expect(job.output).toContain('Waiting for an approval by ops or an admin\n')
    expect(job.output).not.toMatch(/runner '/)
  })

  test('a form without one runs at once, and its job has the approval null', async () => {
    const id = await launch('eve', 'plain')
    expect(await rowOf(id)).toMatchObject({ status: 'running', dispatch: 'queued' })
    expect((await jobOf(id)).approval).toBeNull()
  })

  test('what users type into its texts cannot send commands to a terminal', async () => {
    const id = await launch('eve', 'ops', { host: 'a\u001b[2Jb\nc' })
    expect((await jobOf(id)).approval).toMatchObject({ title: 'Deploy a [2Jb c' })
  })

  test('a job whose runner is missing or off fails at the launch, before anybody is asked', async () => {
    await addRunner(approvals.server, 'resting', { enabled: false })
    for (const [runner, reason] of [
      ['resting', "The runner 'resting' is turned off"],
      ['unknown', "The runner 'unknown' that the form names is not known"],
    ]) {
      await approvals.server.writeForm(
        `${runner}.yml`,
        `${FORMS['ops.yml'].replace('name: ops', `name: on ${runner}`)}runner: ${runner}\n`,
      )
      const id = await launch('eve', `on ${runner}`)
      expect(await jobOf(id)).toMatchObject({ status: 'failed', status_reason: reason, approval: null })
      expect(await status('ann', 'GET', `/job/${id}`)).toBe(403)
    }
  })
})

describe('a job that waits says who may decide about it', () => {
  const canOf = async (who: string, id: number) => {
    const { can } = (await call(who, 'GET', `/job/${id}?output=false`)).body as { can: Record<string, unknown> }
    return { approve: can.approve, reject: can.reject }
  }

  test('as the actions themselves do', async () => {
    const id = await launch('ann', 'ops')
    expect(await canOf('ann', id)).toEqual({ approve: 'own_job', reject: true })
    expect(await canOf('bob', id)).toEqual({ approve: true, reject: true })
    expect(await canOf('admin', id)).toEqual({ approve: true, reject: true })
    expect(await canOf('wat', id)).toEqual({ approve: 'not_an_approver', reject: 'not_an_approver' })
    for (const action of ['approve', 'reject']) {
      expect((await call('wat', 'POST', `/job/${id}/${action}`)).body.code).toBe('not_an_approver')
    }
  })
})

describe('approving', () => {
  test('the job runs: running, in the queue of its runner, who and when in its approval, its output and the audit', async () => {
    covers('endpoint.approve', 'action.approve', 'approval.written')
    const id = await launch('eve', 'ops')
    approvals.server.clock.move(1000)
    const answer = await call('ann', 'POST', `/job/${id}/approve`)
    expect([answer.status, answer.body]).toEqual([200, { message: `Job ${id} was approved` }])
    const time = new Date(approvals.server.clock.now()).toISOString()
    expect(await rowOf(id)).toMatchObject({ status: 'running', dispatch: 'queued', end_time: null })
    const job = await jobOf(id)
    expect(job.approval).toMatchObject({
      state: 'approved',
      decided_by: 'ann',
      decided_by_type: 'local',
      decided_at: time,
    })
    expect(job.output).toContain(`Approved by ann at ${time}\n`)
    const { records } = (await call('admin', 'GET', '/audit?records=1')).body as { records: unknown[] }
    expect(records[0]).toMatchObject({ user: 'ann', action: 'job.approve', status: 200, object: { id: String(id) } })
    expect(
      await approvals.server.store.read.selectFrom('job_transition').selectAll().where('job_id', '=', id).execute(),
    ).toEqual([
      { job_id: id, time: approvals.server.clock.now(), from_status: 'approve', to_status: 'running', reason: null },
    ])
  })

  test('a caller’s own job is 403, unless its approval sets allowSelf or the caller is an admin', async () => {
    covers('rule-10.own', 'error.own-approval')
    const own = await launch('ann', 'ops')
    const refused = await call('ann', 'POST', `/job/${own}/approve`)
    expect([refused.status, refused.body.code]).toEqual([403, 'own_job'])
    expect((await rowOf(own)).status).toBe('approve')
    expect(await status('ann', 'POST', `/job/${await launch('ann', 'self')}/approve`)).toBe(200)
    expect(await status('admin', 'POST', `/job/${await launch('admin', 'ops')}/approve`)).toBe(200)
  })

  test('allowSelf does not replace the role', async () => {
    const id = await launch('eve', 'self')
    expect(await status('eve', 'POST', `/job/${id}/approve`)).toBe(403)
  })

  test('the roles in force at the decision count, not those at the launch', async () => {
    covers('role.next-request')
    const id = await launch('eve', 'both')
    try {
      await approvals.server.writeConfig(CONFIG.replace('local/ops', 'local/nobody'))
      expect([await status('ann', 'POST', `/job/${id}/approve`), await status('ann', 'GET', `/job/${id}`)]).toEqual([
        403, 403,
      ])
      expect(await countOf('ann')).toBe(0)
    } finally {
      await approvals.server.writeConfig(CONFIG)
    }
    expect(await status('ann', 'POST', `/job/${id}/approve`)).toBe(200)
  })

  test('later changes of its form do not count: the job keeps the approval of its launch', async () => {
    await approvals.server.writeForm('moving.yml', form('moving', '{message: Look, roles: [ops]}'))
    const id = await launch('eve', 'moving')
    await approvals.server.writeForm('moving.yml', form('moving', '{message: Look, roles: [dba]}'))
    const { subject } = (await jobOf(id)).approval as { subject: Record<string, string> }
    const refused = await call('ann', 'POST', `/job/${id}/approve`)
    expect(refused.status).toBe(409)
    expect(await status('ann', 'POST', `/job/${id}/approve?force=true`)).toBe(200)
    // The record says that it was forced, and what was approved: the form of now.
    const { approval, output } = await jobOf(id)
    const { now } = refused.body.details as { now: Record<string, string> }
    expect(approval).toMatchObject({ state: 'approved', forced: true, subject: now })
    expect(now.form_sha256).not.toBe(subject.form_sha256)
    expect(output).toContain('[WARNING]: Changed since the approval was asked for: ')
  })
})

describe('rejecting', () => {
  test('ends the job as rejected, with who and when in its approval, its output and the audit', async () => {
    covers('endpoint.reject', 'action.reject', 'status.rejected', 'move.reject', 'approval.written')
    const id = await launch('eve', 'ops')
    const answer = await call('ann', 'POST', `/job/${id}/reject`)
    expect([answer.status, answer.body]).toEqual([200, { message: `Job ${id} was rejected` }])
    const time = new Date(approvals.server.clock.now()).toISOString()
    const job = await jobOf(id)
    expect(job).toMatchObject({ status: 'rejected', status_reason: 'rejected by ann', end: time })
    expect(job.approval).toMatchObject({ state: 'rejected', decided_by: 'ann', decided_at: time })
    expect(job.output).toContain(`Rejected by ann at ${time}\n`)
    expect((await rowOf(id)).dispatch).toBe('done')
    const { records } = (await call('admin', 'GET', '/audit?records=1')).body as { records: unknown[] }
    expect(records[0]).toMatchObject({ user: 'ann', action: 'job.reject', status: 200, object: { id: String(id) } })
  })

  test('the owner may reject their own job', async () => {
    covers('detail.reject-own')
    expect(await status('eve', 'POST', `/job/${await launch('eve', 'ops')}/reject`)).toBe(200)
    expect(await status('ann', 'POST', `/job/${await launch('ann', 'ops')}/reject`)).toBe(200)
  })
})

describe('a relaunch of a form with an approval asks again', () => {
  test.each([
    ['approved', 'approve'],
    ['rejected', 'reject'],
  ])('when the job was %s: the new one waits, and its owner may not approve it', async (_what, decision) => {
    covers('service.approval-first', 'approval.before', 'rule-10.own', 'endpoint.relaunch')
    await clear()
    const first = await launch('ann', 'ops', { host: 'web-1' })
    await call('bob', 'POST', `/job/${first}/${decision}`)
    // No runner has it yet, so that this ends it.
    if (decision === 'approve') expect(await status('ann', 'POST', `/job/${first}/abort`)).toBe(200)
    const again = await call('ann', 'POST', `/job/${first}/relaunch`)
    expect(again.status, again.text).toBe(200)
    const id = Number(again.body.id)
    expect(await rowOf(id)).toMatchObject({ status: 'approve', dispatch: 'parked' })
    expect((await jobOf(id)).approval).toMatchObject({ title: 'Deploy web-1', state: 'waiting', decided_by: null })
    expect([await countOf('ann'), await countOf('bob')]).toEqual([0, 1])
    expect((await call('ann', 'POST', `/job/${id}/approve`)).body.code).toBe('own_job')
    expect(await status('bob', 'POST', `/job/${id}/approve`)).toBe(200)
  })
})

describe('decisions at the same moment', () => {
  const outcomes = async (id: number, ...decisions: [string, string][]) =>
    (await Promise.all(decisions.map(([who, action]) => status(who, 'POST', `/job/${id}/${action}`)))).sort()

  test('two approvals: one succeeds, the other is 409, and the job is queued once', async () => {
    const id = await launch('eve', 'ops')
    expect(await outcomes(id, ['ann', 'approve'], ['bob', 'approve'], ['admin', 'approve'])).toEqual([200, 409, 409])
    expect(await rowOf(id)).toMatchObject({ status: 'running', dispatch: 'queued' })
    expect(String((await jobOf(id)).output).match(/Approved by/g)).toHaveLength(1)
  })

  test('approve against reject: one succeeds, and the job, its approval and its output say the same', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await launch('eve', 'ops')
      const pair: [string, string][] = [
        ['ann', 'approve'],
        ['bob', 'reject'],
      ]
      expect(await outcomes(id, ...(round % 2 === 0 ? pair : pair.reverse()))).toEqual([200, 409])
      const job = await jobOf(id)
      const { state, decided_by: by } = job.approval as { state: string; decided_by: string }
      expect([state, job.status, by]).toEqual(
        state === 'approved' ? ['approved', 'running', 'ann'] : ['rejected', 'rejected', 'bob'],
      )
      expect(String(job.output).match(/Approved by ann|Rejected by bob/g)).toEqual([
        state === 'approved' ? 'Approved by ann' : 'Rejected by bob',
      ])
    }
  })

  test('a rejected job can be deleted, and a later decision about it is 404', async () => {
    const id = await launch('eve', 'ops')
    await call('ann', 'POST', `/job/${id}/reject`)
    expect(await status('eve', 'DELETE', `/job/${id}`)).toBe(200)
    expect(await status('ann', 'POST', `/job/${id}/approve`)).toBe(404)
  })
})

test('the launch, the approval and the rejection of a job send the event jobs', async () => {
  const raised: string[] = []
  const stop = approvals.server.parts.live.subscribe((name) => void raised.push(name))
  const one = await launch('eve', 'ops')
  expect(raised.splice(0)).toContain('jobs')
  await call('ann', 'POST', `/job/${one}/reject`)
  expect(raised.splice(0)).toContain('jobs')
  const two = await launch('eve', 'ops')
  raised.splice(0)
  await call('ann', 'POST', `/job/${two}/approve`)
  expect(raised).toContain('jobs')
  stop()
})
