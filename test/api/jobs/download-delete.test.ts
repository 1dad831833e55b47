import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noteStage } from '../../../control-plane/src/store/jobs/job-stages.js'
import { appendServiceLine } from '../../../control-plane/src/store/jobs/job-streams.js'
import { JOB_STATUSES } from '../../../control-plane/src/words/job-status.js'
import { moveJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { covers } from '../../interface/covers.js'
import { waitFor } from '../../support/wait.js'
import { putJob } from '../job-rows.js'
import { type TestServer, startServer } from '../server.js'
import { stored, upload } from '../upload-client.js'

/** The output of a job as a file, and the end of a job's record. */
let server: TestServer
const tokens: Record<string, string> = {}

const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: managers, groups: [local/managers], options: {manageAllJobs: true}}
  - {name: watchers, groups: [local/watchers], options: {showAllJobLogs: true}}
  - {name: default, groups: []}
`
const FORM = '{name: f, playbook: p.yml, roles: [default], fields: [{name: cert, type: file}]}'

beforeAll(async () => {
  server = await startServer({ config: CONFIG, forms: { 'f.yml': FORM } })
  tokens.admin = server.admin
  for (const [name, groups] of Object.entries({ ann: [], bob: [], manager: ['managers'], watcher: ['watchers'] })) {
    tokens[name] = (await server.addUser(name, groups)).token
  }
})
afterAll(() => server.close())

const call = (method: string, path: string, by = 'ann') => server.call(method, path, { token: tokens[by] })
const say = (id: number, line: string) =>
  server.store.write('test.line', (queries) => appendServiceLine(queries, id, line))

describe('download', () => {
  test('is the whole output as plain text in UTF-8, without colours, as an attachment named after the job', async () => {
    covers('endpoint.download', 'detail.download')
    const id = await putJob(server)
    await say(id, '\u001b[31mrot ü €\u001b[0m')
    await say(id, 'second')
    const { status, headers, text } = await call('GET', `/job/${id}/download`)
    expect([status, text]).toEqual([200, 'rot ü €\nsecond\n'])
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(headers.get('content-disposition')).toBe(`attachment; filename="holdfast-job-${id}.txt"`)
  })

  test('works while the job runs, with its output so far; an output without a byte is an empty file', async () => {
    const id = await putJob(server, { status: 'running' })
    expect((await call('GET', `/job/${id}/download`)).text).toBe('')
    await say(id, 'so far')
    expect((await call('GET', `/job/${id}/download`)).text).toBe('so far\n')
  })

  test('HEAD answers as GET would, without the output', async () => {
    const id = await putJob(server)
    await say(id, 'text')
    const { status, headers, text } = await call('HEAD', `/job/${id}/download`)
    expect([status, text, headers.get('content-type')]).toEqual([200, '', 'text/plain; charset=utf-8'])
    expect(headers.get('content-disposition')).toContain(`holdfast-job-${id}.txt`)
    expect((await call('HEAD', `/job/${id}/download`, 'bob')).status).toBe(403)
  })

  test('has the same checks as reading the job: 401, 404, then 403', async () => {
    covers('answer.order')
    const id = await putJob(server)
    expect((await server.call('GET', `/job/${id}/download`)).status).toBe(401)
    expect((await call('GET', '/job/999999/download', 'bob')).status).toBe(404)
    for (const [by, status] of Object.entries({ ann: 200, bob: 403, manager: 200, watcher: 200, admin: 200 })) {
      for (const what of ['/download', '', '/events']) {
        expect([by, (await call('GET', `/job/${id}${what}`, by)).status]).toEqual([by, status])
      }
    }
  })
})

describe('delete', () => {
  test.each(Object.entries({ ann: true, manager: true, admin: true, bob: false, watcher: false }))(
    'by %s: owner, admin or manageAllJobs, in a state that has ended; 401, 404, 403, 409',
    async (by, isAllowed) => {
      covers(
        'endpoint.delete',
        'detail.delete-who',
        'rule-12.delete',
        'error.conflict-delete',
        'action.delete',
        'answer.order',
      )
      expect((await server.call('DELETE', '/job/1')).status).toBe(401)
      expect((await call('DELETE', '/job/999999', by)).status).toBe(404)
      for (const status of JOB_STATUSES) {
        const id = await putJob(server, { status })
        const isBusy = status === 'running' || status === 'approve'
        const expected = !isAllowed ? 403 : isBusy ? 409 : 200
        const answer = await call('DELETE', `/job/${id}`, by)
        expect([status, answer.status], answer.text).toEqual([status, expected])
        expect((await call('GET', `/job/${id}`)).status).toBe(expected === 200 ? 404 : 200)
        if (expected === 200) expect(answer.body).toEqual({ message: `Job ${id} was deleted` })
      }
    },
  )

  test('also removes subjobs at any depth, output, events, moves and uploads, and does not change other jobs', async () => {
    covers('detail.delete-takes-all')
    const cert = await upload(server, 'a.pem', 'content', tokens.ann)
    const launched = await server.call('POST', '/job', {
      token: tokens.ann,
      json: { formName: 'f', rawFormData: {}, files: { cert } },
    })
    const id = Number(launched.body.id)
    const below = await putJob(server, { parent_id: id })
    const jobs = [id, below, await putJob(server, { parent_id: id }), await putJob(server, { parent_id: below })]
    const other = await putJob(server)
    for (const job of [...jobs, other]) {
      await say(job, 'a line')
      const event = {
        type: 't',
        play: null,
        task: null,
        host: null,
        duration: null,
        time: 'x',
        line: Buffer.from('{}'),
      }
      await server.store.write('test.event', async (queries) => {
        await queries
          .insertInto('job_event')
          .values({ job_id: job, position: 1, ...event })
          .execute()
        await queries.updateTable('job').set({ status: 'running' }).where('id', '=', job).execute()
        await noteStage(queries, [job], 'queued', 1)
        await moveJob(queries, job, { from: ['running'], to: 'success', time: 1, reason: null })
      })
    }
    expect((await call('DELETE', `/job/${id}`)).status).toBe(200)
    const tables = ['job_stream', 'job_output', 'job_event', 'job_transition', 'job_stage', 'job_file'] as const
    for (const table of tables) {
      const rows = await server.store.read.selectFrom(table).select('job_id').execute()
      expect([table, rows.filter((row) => jobs.includes(row.job_id))]).toEqual([table, []])
      expect([table, rows.some((row) => row.job_id === other)]).toEqual([table, table !== 'job_file'])
    }
    for (const job of jobs) expect((await call('GET', `/job/${job}`)).status).toBe(404)
    await waitFor('the upload to go', () => !stored(server).includes(String(cert.filename)))
  })

  test('does not happen twice: 404 the second time, also for one of two at once', async () => {
    const id = await putJob(server)
    const answers = await Promise.all([call('DELETE', `/job/${id}`), call('DELETE', `/job/${id}`, 'admin')])
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 404])
    expect((await call('DELETE', `/job/${id}`)).status).toBe(404)
  })
})
