import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findJobSecrets } from '../../../control-plane/src/store/jobs/job-secrets.js'
import { findJobFiles } from '../../../control-plane/src/store/uploads/uploads.js'
import { covers } from '../../interface/covers.js'
import { waitFor } from '../../support/wait.js'
import { addRunner } from '../runner-row.js'
import { endPart, fieldsFor, nodesOf, partOf, partsOf } from './sequence-parts.js'
import { type TestServer, startServer } from '../server.js'
import { upload } from '../upload-client.js'

/** Multistep jobs: which step runs when and with what, and how the parent job ends. */
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops], options: {allowJobRelaunch: true}}
  - {name: near, groups: [local/near], runners: [edge]}
  - {name: default, groups: [], options: {allowVerboseMode: false, allowJobRelaunch: true}}
`

let server: TestServer
const tokens: Record<string, string> = {}

beforeAll(async () => {
  server = await startServer({ config: CONFIG })
  await addRunner(server, 'edge', { isDefault: true })
  await addRunner(server, 'far')
  await addRunner(server, 'resting', { enabled: false })
  for (const [name, groups] of Object.entries({ ann: ['ops'], bob: ['ops'], eve: [], nia: ['near'] })) {
    tokens[name] = (await server.addUser(name, groups)).token
  }
  tokens.admin = server.admin
})
afterAll(() => server.close())

const call = (who: string, method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: tokens[who], json })

let forms = 0
/** Writes a form with these steps and launches it. */
async function launchSteps(
  steps: readonly Readonly<Record<string, unknown>>[],
  {
    values = {},
    extravars = {},
    who = 'eve',
    form = {},
  }: { values?: object; extravars?: object; who?: string; form?: object } = {},
): Promise<number> {
  forms += 1
  const name = `form ${forms}`
  const file = { name, type: 'multistep', roles: ['default'], steps, fields: fieldsFor(values), ...form }
  await server.writeForm(`${name}.yml`, JSON.stringify(file))
  const answer = await call(who, 'POST', '/job', { formName: name, rawFormData: values, extravars })
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('id')])
  return Number(answer.body.id)
}
const step = (name: string, more: object = {}) => ({ name, type: 'ansible', playbook: `${name}.yml`, ...more })
const addCredential = (name: string) =>
  call('admin', 'POST', '/credential', { name, type: 'userpass', user: 'u', password: 'p' })
const jobOf = async (id: number, who = 'admin') => (await call(who, 'GET', `/job/${id}?text=true`)).body
const ended = (id: number) =>
  waitFor(`the end of job ${id}`, async () => {
    const job = await jobOf(id)
    return ['running', 'approve'].includes(String(job.status)) ? null : job
  })
/** Ends the job of a step. */
async function end(
  id: number,
  target: string,
  ...how: Parameters<typeof endPart> extends [unknown, unknown, ...infer R] ? R : never
) {
  const part = await partOf(server, id, target)
  await endPart(server, part.id, ...how)
  return part
}

describe('steps in order', () => {
  test('each is a separate job, the next starts when the one before has ended; all end with success', async () => {
    covers('service.multistep-job', 'multistep.parts', 'multistep.output')
    const id = await launchSteps([step('one'), step('two')])
    const one = await partOf(server, id, 'one')
    expect(await jobOf(id)).toMatchObject({
      status: 'running',
      job_type: 'multistep',
      step: 'one',
      runner: null,
      subjobs: [one.id],
    })
    expect(one).toMatchObject({
      parent_id: id,
      job_type: 'ansible',
      form: `form ${forms}`,
      user_name: 'eve',
      dispatch: 'queued',
    })
    await endPart(server, one.id)
    const two = await end(id, 'two')
    const whole = await ended(id)
    expect(whole).toMatchObject({ status: 'success', status_reason: null, subjobs: [one.id, two.id] })
    expect(whole.output).toBe(
      [
        `STEP [one] (job ${one.id}) `.padEnd(79, '*'),
        `ok: [one] (job ${one.id})`,
        `STEP [two] (job ${two.id}) `.padEnd(79, '*'),
        `ok: [two] (job ${two.id})`,
        'STEP RECAP '.padEnd(79, '*'),
        'ok=2 failed=0 skipped=0',
        'The job ended: success',
        '',
      ].join('\n'),
    )
  })

  test('a failure stops the later steps that do not say always; the parent job fails and names the step', async () => {
    covers('multistep.stop', 'multistep.always', 'multistep.end')
    const id = await launchSteps([step('one'), step('two'), step('three', { always: true }), step('four')])
    const one = await end(id, 'one', 'failed', 'it broke')
    await end(id, 'three')
    expect(await ended(id)).toMatchObject({ status: 'failed', status_reason: "step 'one' failed: it broke" })
    expect(await nodesOf(server, id)).toEqual({
      one: 'failed',
      two: 'do not run',
      three: 'success',
      four: 'do not run',
    })
    const { output } = await jobOf(id)
    expect(output).toContain(`failed: [one] (job ${one.id}): it broke\nskipping: [two]: step 'one' failed: it broke\n`)
    expect(output).toContain('ok=1 failed=1 skipped=2\n')
  })

  test('a failure with continue is passed over: warning', async () => {
    covers('status.warning', 'multistep.continue', 'multistep.end')
    const id = await launchSteps([step('one', { continue: true }), step('two')])
    await end(id, 'one', 'failed')
    await end(id, 'two')
    expect(await ended(id)).toMatchObject({ status: 'warning', status_reason: "step 'one' failed: it failed" })
  })
})

describe('what a step gets', () => {
  const varsOf = (job: { extravars: string }) => JSON.parse(job.extravars) as Record<string, unknown>

  test('all extra variables of the form, and its own static properties if the values have none; with key only that object', async () => {
    covers('multistep.key')
    const id = await launchSteps(
      [
        step('all', { inventory: ['a', 'b'], tags: 'x,y', limit: 'web', check: true, diff: true, verbose: true }),
        step('own', { key: 'part', inventory: 'c', keepExtravars: true, allowJinjaInExtravars: true }),
        step('none', { key: 'missing', playbookSubPath: 'sub' }),
        step('falsy', { key: 'empty' }),
      ],
      {
        values: { size: 3, other: 1, empty: '' },
        form: {
          fields: [
            { name: 'size', type: 'number', model: 'part.size' },
            { name: 'other', type: 'number' },
            { name: 'empty', type: 'text' },
          ],
        },
      },
    )
    const all = await end(id, 'all')
    expect(JSON.parse(all.playbook)).toMatchObject({
      playbook: 'all.yml',
      inventory: ['a', 'b'],
      tags: 'x,y',
      limit: 'web',
      check: true,
      diff: true,
      verbose: true,
    })
    expect(varsOf(all)).toMatchObject({
      part: { size: 3 },
      other: 1,
      __tags__: 'x,y',
      __check__: true,
      __limit__: 'web',
    })
    const own = await end(id, 'own')
    const { ansibleforms_user: user, ...others } = varsOf(own)
    expect(user).toMatchObject({ username: 'eve' })
    expect(others).toEqual({
      size: 3,
      __playbook__: 'own.yml',
      __inventory__: ['c'],
      __keepExtravars__: true,
      __allowJinjaInExtravars__: true,
    })
    expect(JSON.parse(own.playbook)).toMatchObject({ allowJinjaInExtravars: true, tags: null })
    expect(varsOf(await end(id, 'none'))).toMatchObject({ part: { size: 3 }, other: 1, __playbookSubPath__: 'sub' })
    expect(varsOf(await end(id, 'falsy'))).toMatchObject({ part: { size: 3 }, empty: '' })
    expect(await ended(id)).toMatchObject({ status: 'success' })
    // The parent job has the values of the form, and no static property of a step.
    expect((await jobOf(id)).extravars).not.toHaveProperty('__tags__')
  })

  test('a reserved variable counts below key only where a field of the form puts it', async () => {
    const part = { __playbook__: 'evil.yml', __limit__: 'db', size: 2 }
    const fields = [
      { name: 'where', type: 'text', model: 'part.__limit__' },
      { name: 'size', type: 'number', model: 'part.size' },
    ]
    const given = { values: { where: 'web', size: 1 }, extravars: { part }, form: { fields } }
    const id = await launchSteps([step('one', { key: 'part' })], given)
    const one = await end(id, 'one')
    expect(JSON.parse(one.playbook)).toMatchObject({ playbook: 'one.yml', limit: 'web' })
    expect(varsOf(one)).toMatchObject({ __playbook__: 'one.yml', __limit__: 'web', size: 1 })
  })

  test('the verbose mode of the launch is that of every step, and takes the role option', async () => {
    const steps = [step('one', { key: 'part' }), step('two')]
    const extravars = { __verbose__: true }
    const fields = [{ name: 'a', type: 'number', model: 'part.a' }]
    const id = await launchSteps(steps, { values: { a: 1 }, extravars, who: 'admin', form: { fields } })
    for (const name of ['one', 'two'])
      expect(JSON.parse((await end(id, name)).playbook)).toMatchObject({ verbose: true })
    const answer = await call('eve', 'POST', '/job', { formName: `form ${forms}`, rawFormData: { a: 1 }, extravars })
    expect([answer.status, answer.body.code]).toEqual([403, 'verbose_not_allowed'])
  })

  test('properties of playbooks in the form count for steps without them', async () => {
    const form = { runner: 'far', check: true, inventory: 'everywhere', ansibleCredentials: 'login' }
    await addCredential('login')
    const id = await launchSteps([step('one'), step('two', { runner: 'edge', check: false })], { form })
    const one = await end(id, 'one')
    expect(one.runner_name).toBe('far')
    expect(JSON.parse(one.playbook)).toMatchObject({
      check: true,
      inventory: ['everywhere'],
      ansibleCredentials: 'login',
    })
    const two = await end(id, 'two')
    expect(two.runner_name).toBe('edge')
    expect(JSON.parse(two.playbook)).toMatchObject({ check: false })
  })

  test('its own credentials over those of the form', async () => {
    for (const name of ['mine', 'ours', 'key']) {
      await addCredential(name)
    }
    const id = await launchSteps([step('one', { credentials: { db: 'nobody,mine' } }), step('two')], {
      form: { credentials: { db: 'ours', api: 'key' } },
    })
    const one = await end(id, 'one')
    expect(JSON.parse(one.credentials)).toEqual({ db: 'mine', api: 'key' })
    expect(varsOf(one)).toMatchObject({ __credentials__: { db: 'mine', api: 'key' } })
    expect(JSON.parse((await end(id, 'two')).credentials)).toEqual({ db: 'ours', api: 'key' })
    expect((await ended(id)).credentials).toEqual({ db: 'ours', api: 'key' })
  })

  test('an upload that its variables name', async () => {
    const token = tokens.admin ?? ''
    const taking =
      'name: Takes a file\ntype: ansible\nplaybook: x.yml\nroles: [default]\nfields: [{name: it, type: file}]\n'
    await server.writeForm('takes-a-file.yml', taking)
    const file = await upload(server, 'a.pem', 'content', token)
    const form = { fields: [{ name: 'cert', type: 'file', model: 'part.cert' }] }
    const name = `form ${forms + 1}`
    forms += 1
    await server.writeForm(
      `${name}.yml`,
      JSON.stringify({
        name,
        type: 'multistep',
        roles: ['default'],
        launchValidation: 'enforce',
        ...form,
        steps: [step('one', { key: 'other' }), step('two', { key: 'part' }), step('three', { key: 'bare' })],
      }),
    )
    const sent = { formName: name, rawFormData: {}, files: { cert: file } }
    const launched = await server.call('POST', '/job', { token, json: sent })
    expect(launched.status, launched.text).toBe(200)
    const id = Number(launched.body.id)
    for (const target of ['one', 'two', 'three']) await end(id, target)
    await ended(id)
    const parts = await partsOf(server, id)
    const rows = await findJobFiles(server.store.read, [id, ...parts.map((part) => part.id)])
    const linked = rows.map((row) => [row.job_id, row.field])
    // All of them get it: without an object under their key, the others get everything.
    expect(linked).toEqual([id, ...parts.map((part) => part.id)].map((job) => [job, 'cert']))
  })

  test('password fields stay hidden in the job of every step', async () => {
    const form = { fields: [{ name: 'pin', type: 'password' }] }
    const id = await launchSteps([step('one')], { extravars: { pin: 'hush' }, form })
    const begun = await partOf(server, id, 'one')
    const kept = (await findJobSecrets(server.store.read, [begun.id])).get(begun.id)
    expect(kept && server.parts.credentials.vault.open(begun.run_id, kept.sealed)).toMatchObject({
      variables: { pin: 'hush' },
    })
    const one = await end(id, 'one')
    expect(varsOf(one)).toMatchObject({ pin: '********' })
    await ended(id)
    expect(await findJobSecrets(server.store.read, [id, one.id])).toEqual(new Map())
    expect((await jobOf(one.id)).extravars).toMatchObject({ pin: '********' })
  })
})

describe('a credential that a field of the launch names', () => {
  /** Launches a form with a password, and with this text as the password and as the name. */
  async function launchBoth(text: string) {
    const fields = [
      { name: 'pin', type: 'password' },
      { name: 'db', asCredential: true },
    ]
    const id = await launchSteps([step('one')], { values: { pin: text, db: text }, form: { fields } })
    const { read } = server.store
    const row = await read.selectFrom('job').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const sequence = read.selectFrom('job_sequence').selectAll().where('job_id', '=', id)
    return { id, row, sequence: await sequence.executeTakeFirstOrThrow() }
  }

  test('and that is not there, is masked if it holds a password', async () => {
    const { id, row, sequence } = await launchBoth('typed into the wrong field')
    expect(JSON.stringify([row, sequence])).not.toContain('typed into the wrong field')
    expect(JSON.parse(row.credentials)).toEqual({ db: '********' })
    expect(await ended(id)).toMatchObject({ status: 'failed' })
  })

  test('is used if it is there, also when a password is the same text', async () => {
    await addCredential('same-as-the-pin')
    const { id, row } = await launchBoth('same-as-the-pin')
    expect(JSON.parse(row.credentials)).toEqual({ db: 'same-as-the-pin' })
    expect(JSON.parse((await end(id, 'one')).credentials)).toEqual({ db: 'same-as-the-pin' })
    expect(await ended(id)).toMatchObject({ status: 'success' })
  })
})

describe('ifExtraVar', () => {
  test.each([
    [true, 'success'],
    ['true', 'skipped'],
    [1, 'skipped'],
    [undefined, 'skipped'],
  ])('with %j the step is %s', async (value, status) => {
    covers('multistep.if-extra-var')
    const id = await launchSteps([step('one', { ifExtraVar: 'wanted' }), step('two')], {
      values: value === undefined ? {} : { wanted: value },
    })
    if (status === 'success') await end(id, 'one')
    await end(id, 'two')
    expect((await ended(id)).status).toBe('success')
    expect(await nodesOf(server, id)).toEqual({ one: status, two: 'success' })
    if (status === 'skipped') {
      expect((await jobOf(id)).output).toContain("skipping: [one]: the extra variable 'wanted' is not true\n")
    }
  })
})

describe('missing things and missing rights', () => {
  test('a runner or a credential of any step that the roles do not allow: 403, and nothing is created', async () => {
    const before = (await server.store.read.selectFrom('job').select('id').execute()).length
    forms += 1
    const file = { type: 'multistep', roles: ['default'], steps: [step('one'), step('two', { runner: 'far' })] }
    await server.writeForm(`form ${forms}.yml`, JSON.stringify({ name: `form ${forms}`, ...file }))
    const answer = await call('nia', 'POST', '/job', { formName: `form ${forms}` })
    expect([answer.status, answer.body.code]).toEqual([403, 'runner_not_allowed'])
    expect((await server.store.read.selectFrom('job').select('id').execute()).length).toBe(before)
  })

  test('a value that a step cannot take: 422, and nothing is created', async () => {
    forms += 1
    const fields = [{ name: '__playbook__', type: 'text' }]
    const file = { type: 'multistep', roles: ['default'], fields, steps: [step('one')] }
    await server.writeForm(`form ${forms}.yml`, JSON.stringify({ name: `form ${forms}`, ...file }))
    const rawFormData = { __playbook__: '../x.yml' }
    const answer = await call('eve', 'POST', '/job', { formName: `form ${forms}`, rawFormData })
    expect([answer.status, answer.body.code]).toEqual([422, 'values_refused'])
  })

  test('a step of a type that needs a foreign system: 422 with a sentence', async () => {
    forms += 1
    const file = { type: 'multistep', roles: ['default'], steps: [step('one'), { name: 'two', type: 'awx' }] }
    await server.writeForm(`form ${forms}.yml`, JSON.stringify({ name: `form ${forms}`, ...file }))
    const answer = await call('eve', 'POST', '/job', { formName: `form ${forms}` })
    expect([answer.status, answer.text]).toEqual([422, expect.stringContaining("The step 'two'")])
  })

  test('a runner that is off or unknown, or a missing credential, fails the step when its turn comes', async () => {
    const id = await launchSteps([
      step('one'),
      step('two', { runner: 'resting', continue: true }),
      step('three', { runner: 'unknown', continue: true }),
      step('four', { ansibleCredentials: 'nowhere', continue: true }),
    ])
    await end(id, 'one')
    expect(await ended(id)).toMatchObject({ status: 'warning' })
    const reasons = (await partsOf(server, id)).map((part) => [part.target, part.status, part.status_reason])
    expect(reasons).toEqual([
      ['one', 'success', null],
      ['two', 'failed', "The runner 'resting' is turned off"],
      ['three', 'failed', "The runner 'unknown' that the form names is not known"],
      ['four', 'failed', "There is no credential 'nowhere'"],
    ])
  })

  test('a blocked account runs no further step', async () => {
    const { id: userId, token } = await server.addUser('leaver')
    tokens.leaver = token
    const id = await launchSteps([step('one'), step('two')], { who: 'leaver' })
    await server.call('PUT', `/user/${userId}`, { token: server.admin, json: { enabled: false } })
    await end(id, 'one')
    expect(await ended(id)).toMatchObject({
      status: 'failed',
      status_reason: "step 'two' failed: The account of leaver, who launched this job, is blocked",
    })
  })

  test('a role with fewer rights counts for steps that have not started', async () => {
    const id = await launchSteps([step('one'), step('two', { runner: 'far' })])
    try {
      await server.writeConfig(CONFIG.replace('{name: default,', '{name: default, runners: [edge],'))
      await end(id, 'one')
      expect((await ended(id)).status_reason).toContain("do not allow jobs on the runner 'far'")
    } finally {
      await server.writeConfig(CONFIG)
    }
  })
})
