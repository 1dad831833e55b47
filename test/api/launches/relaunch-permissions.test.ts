import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteRunner } from '../../../control-plane/src/store/runners/runners.js'
import { JOB_STATUSES } from '../../../control-plane/src/words/job-status.js'
import { covers } from '../../interface/covers.js'
import { putJob } from '../job-rows.js'
import { addRunner } from '../runner-row.js'
import { type CallOptions, type TestServer, startServer } from '../server.js'

/** Who may have the field values of a job and run it again, and in which states. */
let server: TestServer

const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: relaunchers, groups: [local/relaunchers], options: {allowJobRelaunch: true}}
  - {name: managers, groups: [local/managers], options: {manageAllJobs: true}}
  - {name: watchers, groups: [local/watchers], options: {showAllJobLogs: true}}
  - {name: quiet, groups: [local/quiet], options: {allowVerboseMode: false}}
  - {name: elsewhere, groups: [local/elsewhere], runners: [another-runner]}
  - {name: default, groups: []}
`
const form = (name: string, more = '') => `{name: ${name}, playbook: p.yml, roles: [default], fields: [], ${more}}`
const FORMS = `[${[
  form('free'),
  form('forbids', 'allowRelaunch: false'),
  form('forbids in the old words', 'disableRelaunch: true'),
  form('of admins', 'roles: [admin]').replace('roles: [default], ', ''),
].join(', ')}]`

/** User → groups. The job is ann's in one half of the table, and somebody else's in the other. */
const PEOPLE: Record<string, { groups: string[]; mayRelaunch: boolean; mayAll: boolean }> = {
  admin: { groups: [], mayRelaunch: true, mayAll: true },
  ann: { groups: ['relaunchers'], mayRelaunch: true, mayAll: false },
  'unrelaunching-ann': { groups: [], mayRelaunch: false, mayAll: false },
  manager: { groups: ['managers', 'relaunchers'], mayRelaunch: true, mayAll: true },
  'unrelaunching-manager': { groups: ['managers'], mayRelaunch: false, mayAll: true },
  watcher: { groups: ['watchers', 'relaunchers'], mayRelaunch: true, mayAll: false },
}
const tokens: Record<string, string> = {}

beforeAll(async () => {
  server = await startServer({
    config: CONFIG,
    forms: { 'all.yml': FORMS },
    settings: { LAUNCH_VALIDATION: 'enforce' },
  })
  tokens.admin = server.admin
  for (const [name, { groups }] of Object.entries(PEOPLE)) {
    if (name !== 'admin') tokens[name] = (await server.addUser(name, groups)).token
  }
  tokens.quiet = (await server.addUser('quiet', ['quiet', 'relaunchers'])).token
  tokens.elsewhere = (await server.addUser('elsewhere', ['elsewhere', 'relaunchers'])).token
})
afterAll(() => server.close())

const call = (method: string, path: string, by: string, options: CallOptions = {}) =>
  server.call(method, path, { token: tokens[by], ...options })
const put = (user: string, more: Parameters<typeof putJob>[1] = {}) =>
  putJob(server, { form: 'free', user_name: user, raw_form_data: '{}', ...more })
const countJobs = async () => (await server.store.read.selectFrom('job').select('id').execute()).length

describe.each(Object.entries(PEOPLE))('%s', (name, { mayRelaunch, mayAll }) => {
  const cases = ['own', 'foreign'].flatMap((whose) =>
    ['free', 'forbids', 'forbids in the old words'].map((of) => [whose, of] as const),
  )
  test.each(cases)('%s job of a form that is %s: rawformdata and relaunch, in every state', async (whose, of) => {
    covers(
      'rule-7.own',
      'rule-7.form',
      'rule-7.option',
      'rule-11.permissions',
      'rule-12.relaunch',
      'error.conflict-relaunch',
      'auth.allow-job-relaunch',
      'auth.manage-all-jobs-rawformdata',
      'auth.admin',
    )
    const isAllowed = mayRelaunch && (whose === 'own' || mayAll) && of === 'free'
    for (const status of JOB_STATUSES) {
      const id = await put(whose === 'own' ? name : 'somebody else', { form: of, status })
      const before = await countJobs()
      const values = await call('GET', `/job/${id}/rawformdata`, name)
      const again = await call('POST', `/job/${id}/relaunch`, name)
      const isBusy = status === 'running' || status === 'approve'
      const expected = isAllowed ? [200, isBusy ? 409 : 200] : [403, 403]
      expect([status, values.status, again.status], again.text).toEqual([status, ...expected])
      expect(await countJobs()).toBe(before + (again.status === 200 ? 1 : 0))
    }
  })
})

describe('what else decides', () => {
  test('401 before 404, 404 before everything else', async () => {
    covers('answer.order')
    for (const [method, path] of [
      ['GET', '/job/999999/rawformdata'],
      ['POST', '/job/999999/relaunch'],
    ] as const) {
      const strange = await server.call(method, path)
      expect([strange.status, strange.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect((await call(method, path, 'unrelaunching-ann')).body).toMatchObject({ code: 'job_not_found' })
      expect((await call(method, path.replace('999999', 'x'), 'ann')).status).toBe(400)
    }
  })

  test('another user gets 403 whatever the body is, and the owner gets 400', async () => {
    const id = await put('ann')
    const bodies: CallOptions[] = [
      { json: [] },
      { json: { values: [] } },
      { json: { values: 'x' } },
      { json: { greeted: 'not in values' } },
      { body: '{', headers: { 'content-type': 'application/json' } },
    ]
    for (const options of bodies) {
      expect((await call('POST', `/job/${id}/relaunch`, 'watcher', options)).status).toBe(403)
      expect((await call('POST', `/job/${id}/relaunch`, 'ann', options)).status, JSON.stringify(options)).toBe(400)
    }
  })

  test('a user with the same name and another type is not the owner', async () => {
    const id = await put('ann', { user_type: 'ldap' })
    expect((await call('POST', `/job/${id}/relaunch`, 'ann')).body).toMatchObject({ code: 'not_your_job' })
  })

  test('a removed form is 404 for users who could have relaunched its job; others get 403', async () => {
    covers('answer.order')
    const id = await put('ann', { form: 'gone' })
    for (const [method, what] of [
      ['GET', 'rawformdata'],
      ['POST', 'relaunch'],
    ] as const) {
      expect((await call(method, `/job/${id}/${what}`, 'ann')).status).toBe(404)
      expect((await call(method, `/job/${id}/${what}`, 'watcher')).status).toBe(403)
    }
  })

  test('a form whose roles are not the caller’s is 403 for a relaunch; its values may still be read', async () => {
    const id = await put('ann', { form: 'of admins' })
    expect((await call('GET', `/job/${id}/rawformdata`, 'ann')).status).toBe(200)
    expect((await call('POST', `/job/${id}/relaunch`, 'ann')).body).toMatchObject({ code: 'form_not_allowed' })
    expect((await call('POST', `/job/${id}/relaunch`, 'admin')).status).toBe(200)
  })

  test('403 comes before 409: verbose and the form’s roles are checked before the state', async () => {
    covers('answer.order')
    const running = await put('quiet', { status: 'running' })
    expect((await call('POST', `/job/${running}/relaunch?verbose=true`, 'quiet')).body).toMatchObject({
      code: 'verbose_not_allowed',
    })
    expect((await call('POST', `/job/${running}/relaunch`, 'quiet')).status).toBe(409)
    const admins = await put('ann', { form: 'of admins', status: 'running' })
    expect((await call('POST', `/job/${admins}/relaunch`, 'ann')).status).toBe(403)
  })

  test('verbose=true needs allowVerboseMode, else it is 403; only the word true asks for it', async () => {
    covers('rule-11.verbose', 'auth.verbose-relaunch')
    const id = await put('quiet')
    expect((await call('POST', `/job/${id}/relaunch?verbose=true`, 'quiet')).status).toBe(403)
    for (const query of ['', '?verbose=', '?verbose=false', '?verbose=1', '?verbose=TRUE']) {
      const { body } = await call('POST', `/job/${id}/relaunch${query}`, 'quiet')
      expect(body.id, query).toEqual(expect.any(Number))
      expect((await call('GET', `/job/${String(body.id)}`, 'quiet')).body.extravars).not.toHaveProperty('__verbose__')
    }
    const own = await put('ann')
    const { body } = await call('POST', `/job/${own}/relaunch?verbose=true`, 'ann')
    expect((await call('GET', `/job/${String(body.id)}`, 'ann')).body.extravars).toMatchObject({ __verbose__: true })
  })

  test('a runner that the roles do not allow is 403', async () => {
    covers('role.limits')
    const { id: runner } = await addRunner(server, 'the-default', { isDefault: true })
    const id = await put('elsewhere', { status: 'running' })
    const answer = await call('POST', `/job/${id}/relaunch`, 'elsewhere')
    expect([answer.status, answer.body.code]).toEqual([403, 'runner_not_allowed'])
    await server.store.write('test.runner', (queries) => deleteRunner(queries, runner))
  })

  test('a subjob cannot run alone: 409 that names the job to relaunch', async () => {
    const parent = await put('ann')
    const id = await put('ann', { parent_id: parent, step: 'one' })
    const answer = await call('POST', `/job/${id}/relaunch`, 'ann')
    expect([answer.status, answer.body.code]).toEqual([409, 'part_of_a_job'])
    expect(answer.body.error).toContain(`relaunch job ${parent}`)
  })

  test('an abandoned job can be run again, and the message says that it may still run', async () => {
    const id = await put('ann', { status: 'abandoned', dispatch: 'claimed', runner_name: 'far-away' })
    const { status, body } = await call('POST', `/job/${id}/relaunch`, 'ann')
    expect(status).toBe(200)
    expect(body.message).toBe(
      `Job ${id} was launched again as job ${String(body.id)}; job ${id} was given up, and may still be at work on the runner 'far-away'`,
    )
  })
})
