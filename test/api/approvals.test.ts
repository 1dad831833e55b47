import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../interface/covers.js'
import { addRunner } from './runner-row.js'
import { type TestServer, startServer } from './server.js'

/** Approvals: who may give them, who sees what waits for them, and that each is decided once. */
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops], options: {allowJobRelaunch: true}}
  - {name: dba, groups: [local/dba]}
  - {name: watchers, groups: [local/watchers], options: {showAllJobLogs: true}}
  - {name: managers, groups: [local/managers], options: {manageAllJobs: true}}
  - {name: default, groups: []}
`

const form = (name: string, approval: string | null) => `name: ${name}
type: ansible
roles: [default]
playbook: x.yml
fields: [{name: host, type: text}, {name: key, type: password}, {name: login, type: text, model: db.token}]
${approval === null ? '' : `approval: ${approval}`}
`
const FORMS = {
  'plain.yml': form('plain', null),
  'ops.yml': form(
    'ops',
    '{title: "Deploy $(host)", message: "With $(key) and $(db.token) to $(nowhere)", roles: [ops]}',
  ),
  'both.yml': form('both', '{message: Look, roles: [ops, dba]}'),
  'self.yml': form('self', '{message: Look, roles: [ops], allowSelf: true}'),
  'anyone.yml': form('anyone', '{message: Look, roles: [public]}'),
  'nobody.yml': form('nobody', '{message: Look, roles: []}'),
}

const HASH = /^[0-9a-f]{64}$/

let server: TestServer
const tokens: Record<string, string> = {}

beforeAll(async () => {
  server = await startServer({ config: CONFIG, forms: FORMS })
  await addRunner(server, 'edge', { isDefault: true })
  const people = { ann: ['ops'], bob: ['ops'], dan: ['dba', 'ops'], eve: [], wat: ['watchers'], max: ['managers'] }
  for (const [name, groups] of Object.entries(people)) tokens[name] = (await server.addUser(name, groups)).token
  tokens.admin = server.admin
})
afterAll(() => server.close())

const call = (who: string, method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: tokens[who], json })
const status = async (who: string, method: string, path: string) => (await call(who, method, path)).status
async function launch(who: string, formName: string, extravars: Record<string, unknown> = {}): Promise<number> {
  const answer = await call(who, 'POST', '/job', { formName, rawFormData: extravars })
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('id')])
  return Number(answer.body.id)
}
const jobOf = async (id: number, who = 'admin') => (await call(who, 'GET', `/job/${id}?text=true`)).body
const rowOf = (id: number) =>
  server.store.read.selectFrom('job').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const countOf = async (who: string) => Number((await call(who, 'GET', '/job/approvals')).text)
const listed = async (who: string, query = '') =>
  ((await call(who, 'GET', `/job${query}`)).body.records as { id: number }[]).map(({ id }) => id)
/** Ends everything that waits, so that a test can count. */
async function clear(): Promise<void> {
  for (const id of await listed('admin', '?waiting=true')) await call('admin', 'POST', `/job/${id}/reject`)
}

describe('a form with an approval', () => {
  test('launches into approve, is in no queue, and shows what it waits for', async () => {
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
    await addRunner(server, 'resting', { enabled: false })
    for (const [runner, reason] of [
      ['resting', "The runner 'resting' is turned off"],
      ['unknown', "The runner 'unknown' that the form names is not known"],
    ]) {
      await server.writeForm(
        `${runner}.yml`,
        `${FORMS['ops.yml'].replace('name: ops', `name: on ${runner}`)}runner: ${runner}\n`,
      )
      const id = await launch('eve', `on ${runner}`)
      expect(await jobOf(id)).toMatchObject({ status: 'failed', status_reason: reason, approval: null })
      expect(await status('ann', 'GET', `/job/${id}`)).toBe(403)
    }
  })
})

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

  test('the own job counts only with allowSelf, for an admin always', async () => {
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
    expect(await server.store.read.selectFrom('awaited_approval').selectAll().execute()).toEqual([])
  })

  test('the metric af_jobs counts what waits', async () => {
    await clear()
    await launch('eve', 'ops')
    const metrics = async () => (await call('admin', 'GET', '/metrics')).text
    expect(await metrics()).toContain('af_jobs{status="approve"} 1\n')
    await clear()
    expect(await metrics()).toContain('af_jobs{status="approve"} 0\n')
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

  test('everything that is shown of it while it waits; nothing for others', async () => {
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

  test('afterwards only whoever decided goes on seeing it', async () => {
    for (const action of ['approve', 'reject']) {
      const id = await launch('eve', 'ops')
      expect(await status('ann', 'POST', `/job/${id}/${action}`)).toBe(200)
      expect(await status('ann', 'GET', `/job/${id}`)).toBe(200)
      expect(await status('bob', 'GET', `/job/${id}`)).toBe(403)
    }
  })
})

describe('approving', () => {
  test('the job runs: running, in the queue of its runner, who and when in its approval, its output and the audit', async () => {
    covers('endpoint.approve', 'action.approve', 'approval.written')
    const id = await launch('eve', 'ops')
    server.clock.move(1000)
    const answer = await call('ann', 'POST', `/job/${id}/approve`)
    expect([answer.status, answer.body]).toEqual([200, { message: `Job ${id} was approved` }])
    const time = new Date(server.clock.now()).toISOString()
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
    expect(await server.store.read.selectFrom('job_transition').selectAll().where('job_id', '=', id).execute()).toEqual(
      [{ job_id: id, time: server.clock.now(), from_status: 'approve', to_status: 'running', reason: null }],
    )
  })

  test('the own job is 403, unless its approval sets allowSelf or the caller is an admin', async () => {
    covers('rule-10.own', 'error.own-approval')
    const own = await launch('ann', 'ops')
    const refused = await call('ann', 'POST', `/job/${own}/approve`)
    expect([refused.status, refused.body.code]).toEqual([403, 'own_job'])
    expect((await rowOf(own)).status).toBe('approve')
    expect(await status('ann', 'POST', `/job/${await launch('ann', 'self')}/approve`)).toBe(200)
    expect(await status('admin', 'POST', `/job/${await launch('admin', 'ops')}/approve`)).toBe(200)
  })

  test('allowSelf does not spare the role', async () => {
    const id = await launch('eve', 'self')
    expect(await status('eve', 'POST', `/job/${id}/approve`)).toBe(403)
  })

  test('the roles in force at the decision count, not those at the launch', async () => {
    covers('role.next-request')
    const id = await launch('eve', 'both')
    try {
      await server.writeConfig(CONFIG.replace('local/ops', 'local/nobody'))
      expect([await status('ann', 'POST', `/job/${id}/approve`), await status('ann', 'GET', `/job/${id}`)]).toEqual([
        403, 403,
      ])
      expect(await countOf('ann')).toBe(0)
    } finally {
      await server.writeConfig(CONFIG)
    }
    expect(await status('ann', 'POST', `/job/${id}/approve`)).toBe(200)
  })

  test('what its form asks for later does not count: the job keeps what it was launched with', async () => {
    await server.writeForm('moving.yml', form('moving', '{message: Look, roles: [ops]}'))
    const id = await launch('eve', 'moving')
    await server.writeForm('moving.yml', form('moving', '{message: Look, roles: [dba]}'))
    expect(await status('ann', 'POST', `/job/${id}/approve`)).toBe(409)
    expect(await status('ann', 'POST', `/job/${id}/approve?force=true`)).toBe(200)
  })
})

describe('rejecting', () => {
  test('ends the job as rejected, with who and when in its approval, its output and the audit', async () => {
    covers('endpoint.reject', 'action.reject', 'status.rejected', 'move.reject', 'approval.written')
    const id = await launch('eve', 'ops')
    const answer = await call('ann', 'POST', `/job/${id}/reject`)
    expect([answer.status, answer.body]).toEqual([200, { message: `Job ${id} was rejected` }])
    const time = new Date(server.clock.now()).toISOString()
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
  ])(
    'when the job was %s: the new one waits, and is as little one’s own to approve as any',
    async (_what, decision) => {
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
    },
  )
})

describe('the order of checks', () => {
  test.each(['approve', 'reject'])('%s: 401, then 404, then 403, then 409', async (action) => {
    covers('answer.order', 'rule-12.approve', 'rule-12.reject', 'error.conflict-approve', 'error.conflict-reject')
    const waiting = await launch('eve', 'ops')
    const running = await launch('eve', 'plain')
    const decidedOn = await launch('eve', 'ops')
    await call('bob', 'POST', `/job/${decidedOn}/reject`)
    expect((await server.call('POST', `/job/${waiting}/${action}`)).status).toBe(401)
    expect((await server.call('POST', `/job/999999/${action}`)).status).toBe(401)
    expect(await status('max', 'POST', `/job/999999/${action}`)).toBe(404)
    expect(await status('max', 'POST', `/job/one/${action}`)).toBe(400)
    for (const id of [waiting, decidedOn]) expect(await status('max', 'POST', `/job/${id}/${action}`)).toBe(403)
    // Nobody was ever to decide about it.
    expect(await status('max', 'POST', `/job/${running}/${action}`)).toBe(409)
    for (const id of [running, decidedOn]) expect(await status('admin', 'POST', `/job/${id}/${action}`)).toBe(409)
    const late = await call('ann', 'POST', `/job/${decidedOn}/${action}`)
    expect([late.status, late.body]).toEqual([
      409,
      { code: 'not_waiting', error: `Job ${decidedOn} does not wait for an approval: it was rejected by bob` },
    ])
    expect((await rowOf(waiting)).status).toBe('approve')
  })

  test('a job that waits cannot be aborted or deleted: 409', async () => {
    covers('rule-12.abort', 'rule-12.delete', 'error.conflict-abort', 'error.conflict-delete')
    const id = await launch('eve', 'ops')
    for (const who of ['eve', 'admin', 'max']) {
      expect(await status(who, 'POST', `/job/${id}/abort`)).toBe(409)
      expect(await status(who, 'DELETE', `/job/${id}`)).toBe(409)
    }
    expect(await rowOf(id)).toMatchObject({ status: 'approve', abort_requested: 0 })
  })
})

describe('decisions at the same moment', () => {
  const outcomes = async (id: number, ...decisions: [string, string][]) =>
    (await Promise.all(decisions.map(([who, action]) => status(who, 'POST', `/job/${id}/${action}`)))).sort()

  test('two approvals: one is taken, the other is 409, and the job is queued once', async () => {
    const id = await launch('eve', 'ops')
    expect(await outcomes(id, ['ann', 'approve'], ['bob', 'approve'], ['admin', 'approve'])).toEqual([200, 409, 409])
    expect(await rowOf(id)).toMatchObject({ status: 'running', dispatch: 'queued' })
    expect(String((await jobOf(id)).output).match(/Approved by/g)).toHaveLength(1)
  })

  test('approve against reject: one is taken, and the job, its approval and its output say the same', async () => {
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

  test('a rejected job can be deleted, and what is decided about it afterwards is 404', async () => {
    const id = await launch('eve', 'ops')
    await call('ann', 'POST', `/job/${id}/reject`)
    expect(await status('eve', 'DELETE', `/job/${id}`)).toBe(200)
    expect(await status('ann', 'POST', `/job/${id}/approve`)).toBe(404)
  })
})

test('the launch, the approval and the rejection of a job raise jobs', async () => {
  const raised: string[] = []
  const stop = server.parts.live.subscribe((name) => void raised.push(name))
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
