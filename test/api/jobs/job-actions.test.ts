import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { JOB_STATUSES, type JobStatus } from '../../../control-plane/src/words/job-status.js'
import { covers } from '../../interface/covers.js'
import { putJob } from '../job-rows.js'
import { addRunner } from '../runner-row.js'
import { type TestServer, startServer } from '../server.js'

/** Every action on a job in every status: what is refused, in which order, and what the answer is when it is not. */
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops]}
  - {name: default, groups: [], options: {allowJobRelaunch: true}}
`
const APPROVAL = {
  title: null,
  message: 'Look',
  message_text: 'Look',
  roles: ['ops'],
  notifications: [],
  allowSelf: false,
  state: 'waiting',
  decided_by: null,
  decided_by_type: null,
  decided_by_id: null,
  decided_at: null,
  subject: { manifest_sha256: null, form_sha256: null },
  forced: false,
}
const ENDED = JOB_STATUSES.filter((status) => status !== 'running' && status !== 'approve')

interface Action {
  readonly method: string
  readonly path: string
  /** Who may do it. */
  readonly by: 'ann' | 'otto'
  readonly allowedIn: readonly JobStatus[]
}
const ACTIONS: Record<string, Action> = {
  abort: { method: 'POST', path: '/abort', by: 'ann', allowedIn: ['running'] },
  'abort also of what is abandoned': {
    method: 'POST',
    path: '/abort?abandoned=true',
    by: 'ann',
    allowedIn: ['running', 'abandoned'],
  },
  approve: { method: 'POST', path: '/approve?force=true', by: 'otto', allowedIn: ['approve'] },
  reject: { method: 'POST', path: '/reject', by: 'otto', allowedIn: ['approve'] },
  relaunch: { method: 'POST', path: '/relaunch', by: 'ann', allowedIn: ENDED },
  delete: { method: 'DELETE', path: '', by: 'ann', allowedIn: ENDED },
}

let server: TestServer
let runnerId: number
const tokens: Record<string, string> = {}

beforeAll(async () => {
  const form = '{name: f, playbook: x.yml, roles: [default], fields: []}'
  server = await startServer({
    config: CONFIG,
    forms: { 'f.yml': form },
  })
  runnerId = (await addRunner(server, 'seven', { isDefault: true })).id
  for (const [name, groups] of Object.entries({ ann: [], bob: [], otto: ['ops'] })) {
    tokens[name] = (await server.addUser(name, groups)).token
  }
  tokens.admin = server.admin
})
afterAll(() => server.close())

/** A job of ann's. */
const put = (status: JobStatus) =>
  putJob(server, {
    status,
    approval: JSON.stringify(APPROVAL),
    runner_id: runnerId,
    runner_name: 'seven',
    raw_form_data: '{}',
    dispatch: status === 'approve' ? 'parked' : status === 'running' || status === 'abandoned' ? 'claimed' : 'done',
    ...(status === 'running' || status === 'approve' ? { end_time: null } : {}),
  })
const act = ({ method, path }: Action, id: unknown, by?: string) =>
  server.call(method, `/job/${String(id)}${path}`, { token: by === undefined ? undefined : tokens[by] })
const stored = () => server.store.read.selectFrom('job').selectAll().orderBy('id').execute()

describe.each(Object.entries(ACTIONS))('%s', (name, action) => {
  test('checks come in one order: 401, 404, 403, 409', async () => {
    covers('answer.order', 'answer.401', 'answer.403', 'answer.404', 'endpoint.bearer')
    expect((await act(action, 999_999)).status).toBe(401)
    expect((await act(action, 'one', 'bob')).status).toBe(400)
    expect((await act(action, 999_999, 'bob')).status).toBe(404)
    for (const status of JOB_STATUSES) {
      const id = await put(status)
      const before = await stored()
      expect([status, (await act(action, id)).status]).toEqual([status, 401])
      expect([status, (await act(action, id, 'bob')).status]).toEqual([status, 403])
      expect(await stored()).toEqual(before)
    }
  })

  test('in a status that does not allow it answers 409 and changes nothing, also for an admin', async () => {
    covers(
      'move.conflict',
      'move.final',
      'rule-12.abort',
      'rule-12.approve',
      'rule-12.reject',
      'rule-12.relaunch',
      'rule-12.delete',
    )
    covers('error.conflict-abort', 'error.conflict-approve', 'error.conflict-reject', 'error.conflict-relaunch')
    covers('error.conflict-delete')
    for (const status of JOB_STATUSES.filter((one) => !action.allowedIn.includes(one))) {
      const id = await put(status)
      const before = await stored()
      for (const by of [action.by, 'admin']) {
        const answer = await act(action, id, by)
        expect([status, answer.status], answer.text).toEqual([status, 409])
        expect(answer.body).toEqual({ error: expect.any(String) as string, code: expect.any(String) as string })
      }
      expect(await stored()).toEqual(before)
    }
  })

  test('in a status that allows it answers 200 with a message; only a relaunch answers the id of the new job', async () => {
    covers('action.abort', 'action.approve', 'action.reject', 'action.relaunch', 'action.delete', 'action.relaunch-id')
    covers('answer.ok', 'endpoint.abort', 'endpoint.approve', 'endpoint.reject', 'endpoint.relaunch', 'endpoint.delete')
    for (const status of action.allowedIn) {
      const id = await put(status)
      const { status: code, body } = await act(action, id, action.by)
      const message = expect.stringMatching(/\S/) as string
      const isRelaunch = name === 'relaunch'
      expect([code, body]).toEqual([200, isRelaunch ? { message, id: expect.any(Number) as number } : { message }])
      if (isRelaunch) expect(body.id).toBeGreaterThan(id)
    }
  })
})

describe('the abort of an abandoned job', () => {
  test('is refused with a hint how to ask for it; then it is stored, and the job stays abandoned until its runner reports', async () => {
    covers('over-time.abandoned-abort')
    const id = await put('abandoned')
    const plain = await server.call('POST', `/job/${id}/abort`, { token: tokens.ann })
    expect(plain).toMatchObject({ status: 409, body: { code: 'not_running' } })
    expect(plain.body.error).toContain('abandoned=true')
    expect(plain.body.error).toContain(`holdfast job abort ${id} --abandoned`)
    const asked = await server.call('POST', `/job/${id}/abort?abandoned=true`, { token: tokens.ann })
    expect(asked).toMatchObject({ status: 200, body: { message: expect.stringContaining('is kept') as string } })
    const { body } = await server.call('GET', `/job/${id}?text=true`, { token: tokens.ann })
    expect(body).toMatchObject({ status: 'abandoned', abort_requested: true, connected: false })
    expect(body.detail).toContain('its abort was asked for and waits for the runner to connect')
    expect(body.output).toContain('Abort requested by ann')
    const again = await server.call('POST', `/job/${id}/abort?abandoned=true`, { token: tokens.ann })
    expect(again).toMatchObject({ status: 409, body: { code: 'abort_pending' } })
    const { body: trail } = await server.call('GET', '/audit?action=job.abort&records=3', { token: tokens.admin })
    expect(trail.records).toMatchObject([
      { status: 409, detail: 'abandoned' },
      { status: 200, detail: 'abandoned' },
      { status: 409, detail: null },
    ])
  })
})
