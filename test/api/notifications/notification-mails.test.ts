import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { endJob } from '../../../control-plane/src/jobs/end/ending.js'
import { readSettings } from '../../../control-plane/src/settings.js'
import { type MailServer, startMailServer } from '../../support/mail-server.js'
import { startProduct } from '../../support/product.js'
import { TEST_CERTIFICATE } from '../../support/test-certificate.js'
import { waitFor } from '../../support/wait.js'
import { putJob } from '../job-rows.js'
import { addRunner } from '../runner-row.js'
import { endPart, partOf } from '../sequences/sequence-parts.js'
import { type ServerOptions, type TestServer, startServer } from '../server.js'

const never = () => () => undefined
const toClose: { close(): Promise<void> }[] = []

afterEach(async () => {
  for (const part of toClose.splice(0).reverse()) await part.close()
})

async function start(
  mail: MailServer | null,
  settings: ServerOptions['settings'] = {},
  workflows: ServerOptions['workflows'] = {},
): Promise<TestServer> {
  const log: string[] = []
  const smtp = mail ? { SMTP_HOST: '127.0.0.1', SMTP_PORT: String(mail.port), MAIL_FROM: 'jobs@example.com' } : {}
  const server = await startServer({
    timers: { after: never, every: never },
    log,
    workflows,
    settings: { ...smtp, SMTP_TLS: 'none', PUBLIC_URL: 'https://jobs.example.com', ...settings },
  })
  toClose.push(server, { close: async () => expect(log.join('')).not.toContain('CANARY') })
  return server
}

async function mailServer(...given: Parameters<typeof startMailServer>): Promise<MailServer> {
  const mail = await startMailServer(...given)
  toClose.push(mail)
  return mail
}

const told = { recipients: ['ann@example.com', 'ann@example.com'], channels: [], onStatus: ['failed'], onEvent: [] }

async function endedJob(server: TestServer, notifications: object, job: object = {}): Promise<number> {
  const row = { status: 'running', dispatch: 'claimed', end_time: null, form: 'Greet' } as const
  const id = await putJob(server, { ...row, notifications: JSON.stringify(notifications), ...job })
  await server.store.write('test.end', (queries) =>
    endJob(queries, id, { status: 'failed', reason: 'rc 2', detail: null }, server.clock.now()),
  )
  return id
}

async function look(server: TestServer): Promise<Record<string, unknown>[]> {
  await server.parts.notifications.look()
  await server.parts.notifications.outbox.settled()
  return (await server.call('GET', '/notification', { token: server.admin })).body.records as Record<string, unknown>[]
}

const testMail = async (server: TestServer, to = 'ann@example.com') =>
  (await server.call('POST', '/notification/test-mail', { token: server.admin, json: { to } })).body

test('SMTP_HOST, SMTP_PORT and MAIL_FROM send a mail about a job, and no text of a person becomes a header', async () => {
  const mail = await mailServer({ hideSTARTTLS: true })
  const server = await start(mail)
  const id = await endedJob(server, told, {
    form: 'Greet\r\nBcc: eve@example.com\r\n\r\n<b>bold</b>',
    extravars: '{"word":"CANARY-extravar"}',
  })
  expect(await look(server)).toMatchObject([
    { channel: 'mail', recipient: 'ann@example.com', event: 'job.ended', job_id: id, state: 'sent' },
  ])
  expect(mail.mails).toMatchObject([{ from: 'jobs@example.com', to: ['ann@example.com'], isEncrypted: false }])
  const [head = '', body = ''] = (mail.mails[0]?.text ?? '').split(/\r\n\r\n([^]*)/)
  expect(head).not.toMatch(/^bcc:/im)
  expect(head).toMatch(/^From: jobs@example.com\r$/m)
  // Of the domain of the sender, as receivers want it.
  expect(head).toMatch(/^Message-ID: <[^@<>\s]+@example\.com>\r$/im)
  expect(head).toMatch(/^Content-Type: text\/plain/m)
  expect(body).toContain(`https://jobs.example.com/jobs/${id}`)
  expect(body).not.toContain('CANARY')
})

test('SMTP_TLS=starttls encrypts, and sends nothing to a server that cannot encrypt', async () => {
  const able = await mailServer({ ...TEST_CERTIFICATE })
  // The certificate is of nobody that this process trusts: with encryption asked for, nothing is sent.
  const server = await start(able, { SMTP_TLS: 'starttls' })
  expect(await testMail(server)).toMatchObject({
    state: 'failed',
    problem: expect.stringMatching(/certificate/) as string,
  })
  const unable = await mailServer({ hideSTARTTLS: true })
  const other = await start(unable, { SMTP_TLS: 'starttls' })
  expect(await testMail(other)).toMatchObject({ state: 'failed' })
  expect([...able.mails, ...unable.mails]).toEqual([])
})

test('SMTP_USER and SMTP_PASSWORD sign in, and the error for a wrong password does not show it', async () => {
  const login = { user: 'holdfast', password: 'CANARY-password' }
  const mail = await mailServer({ hideSTARTTLS: true, allowInsecureAuth: true, login })
  const given = { SMTP_USER: 'holdfast', SMTP_PASSWORD: 'CANARY-password' }
  expect(await testMail(await start(mail, given))).toMatchObject({ state: 'sent', event: 'test' })
  expect(mail.mails).toMatchObject([{ user: 'holdfast' }])
  const wrong = await testMail(await start(mail, { ...given, SMTP_PASSWORD: 'CANARY-wrong' }))
  expect(wrong).toMatchObject({ state: 'failed' })
  expect(wrong.problem).toMatch(/Invalid/)
  expect(JSON.stringify(wrong)).not.toContain('CANARY')
})

test('an address that the server refuses for ever is not tried again, but one that it refuses now is', async () => {
  const refusal = (responseCode: number) => Object.assign(new Error('we do not want it'), { responseCode })
  const mail = await mailServer({ hideSTARTTLS: true }, (address) =>
    address.startsWith('gone@') ? refusal(550) : address.startsWith('full@') ? refusal(450) : null,
  )
  const server = await start(mail)
  const twice = ['bob@example.com', 'bob@example.com']
  await endedJob(server, { ...told, recipients: ['gone@example.com', 'no address', 'full@example.com', ...twice] })
  const records = await look(server)
  expect(records.map(({ recipient, state, attempts }) => [recipient, state, attempts])).toEqual([
    ['bob@example.com', 'sent', 1],
    ['full@example.com', 'waiting', 1],
    ['no address', 'failed', 1],
    ['gone@example.com', 'failed', 1],
  ])
  // A server that is away may be back.
  await mail.close()
  await endedJob(server, told)
  const [later] = await look(server)
  expect(later).toMatchObject({ state: 'waiting', attempts: 1 })
  expect(later?.next_attempt).not.toBeNull()
})

test('a form says who gets mails about its jobs: about their launch, and about the ends that it names', async () => {
  const mail = await mailServer({ hideSTARTTLS: true })
  const server = await start(mail)
  const notifications = { recipients: ['team@example.com'], onStatus: ['failed'], onEvent: ['launch', 'relaunch'] }
  const form = { name: 'Greet', type: 'ansible', playbook: 'x.yml', roles: ['public'], fields: [] }
  await server.writeForm('greet.yml', JSON.stringify({ ...form, notifications }))
  await addRunner(server, 'edge', { isDefault: true })
  const launch = async () => {
    const json = { formName: 'Greet', rawFormData: {} }
    const { status, body, text } = await server.call('POST', '/job', { token: server.admin, json })
    expect(status, text).toBe(200)
    return Number(body.id)
  }
  const end = (id: number, status: 'success' | 'failed') =>
    server.store.write('test.end', (queries) =>
      endJob(queries, id, { status, reason: null, detail: null }, server.clock.now()),
    )
  const toldOf = async () => (await look(server)).map(({ event, job_id, recipient }) => [event, job_id, recipient])
  const first = await launch()
  await end(first, 'success')
  expect(await toldOf()).toEqual([['job.launch', first, 'team@example.com']])
  const second = await launch()
  await end(second, 'failed')
  expect((await toldOf()).slice(0, 2)).toEqual([
    ['job.ended', second, 'team@example.com'],
    ['job.launch', second, 'team@example.com'],
  ])
  const again = await server.call('POST', `/job/${second}/relaunch`, { token: server.admin })
  expect((await toldOf())[0]).toEqual(['job.relaunch', Number(again.body.id), 'team@example.com'])
})

test('a form says who gets mails when its jobs are approved, rejected and removed', async () => {
  const server = await start(await mailServer({ hideSTARTTLS: true }))
  const notifications = {
    recipients: ['team@example.com'],
    onStatus: ['success'],
    onEvent: ['approve', 'reject', 'delete'],
  }
  const texts = { title: 'Go?', message: null, message_text: null }
  const approval = { ...texts, roles: ['admin'], notifications: [], allowSelf: true, forced: false }
  const waiting = { status: 'approve', dispatch: 'parked', end_time: null, form: 'Greet' } as const
  const decisions = {
    state: 'waiting',
    decided_by: null,
    decided_by_type: null,
    decided_by_id: null,
    decided_at: null,
    subject: { manifest_sha256: null, form_sha256: null },
  }
  const put = () =>
    putJob(server, {
      ...waiting,
      notifications: JSON.stringify({ channels: [], ...notifications }),
      approval: JSON.stringify({ ...approval, ...decisions }),
    })
  const [approved, rejected] = [await put(), await put()]
  const act = async (method: string, path: string) =>
    expect((await server.call(method, path, { token: server.admin })).status).toBe(200)
  await act('POST', `/job/${approved}/approve?force=true`)
  await act('POST', `/job/${rejected}/reject`)
  await act('DELETE', `/job/${rejected}`)
  expect((await look(server)).map(({ event, job_id, recipient }) => [event, job_id, recipient])).toEqual([
    ['job.delete', rejected, 'team@example.com'],
    ['job.reject', rejected, 'team@example.com'],
    ['job.approve', approved, 'team@example.com'],
  ])
})

test('SMTP_TLS=tls: encrypts from the first byte, and a server without that gets nothing', async () => {
  const able = await mailServer({ ...TEST_CERTIFICATE, secure: true })
  const server = await start(able, { SMTP_TLS: 'tls' })
  // Nobody here trusts its certificate.
  expect(await testMail(server)).toMatchObject({
    state: 'failed',
    problem: expect.stringMatching(/certificate/) as string,
  })
  const plain = await mailServer({ hideSTARTTLS: true })
  expect(await testMail(await start(plain, { SMTP_TLS: 'tls' }))).toMatchObject({ state: 'failed' })
  expect([...able.mails, ...plain.mails]).toEqual([])
})

test.each([
  ['tls', { secure: true }],
  ['starttls', {}],
])('SMTP_TLS=%s: a mail arrives encrypted at a server that is trusted, with its password', async (tls, how) => {
  const login = { user: 'holdfast', password: 'CANARY-password' }
  const mail = await mailServer({ ...TEST_CERTIFICATE, ...how, login })
  const trusted = join(mkdtempSync(join(tmpdir(), 'holdfast-mail-')), 'ca.pem')
  writeFileSync(trusted, TEST_CERTIFICATE.cert)
  onTestFinished(() => rmSync(dirname(trusted), { recursive: true }))
  // A process of its own, because trust is read when one starts.
  const product = await startProduct({
    withAgent: false,
    controlPlane: {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(mail.port),
      SMTP_TLS: tls,
      MAIL_FROM: 'jobs@example.com',
      SMTP_USER: 'holdfast',
      SMTP_PASSWORD: 'CANARY-password',
      NODE_EXTRA_CA_CERTS: trusted,
    },
  })
  onTestFinished(() => product.close())
  const sent = await product.admin.post('/notification/test-mail', { to: 'ann@example.com' })
  expect(sent).toMatchObject({ state: 'sent', problem: null })
  expect(mail.mails).toMatchObject([{ to: ['ann@example.com'], isEncrypted: true, user: 'holdfast' }])
})

test('a step names recipients for its end, in addition to those of the form for the parent job', async () => {
  const mail = await mailServer({ hideSTARTTLS: true })
  const server = await start(mail)
  const steps = [
    { name: 'build', playbook: 'x.yml', notifications: { recipients: ['build@example.com'] } },
    {
      name: 'test',
      playbook: 'x.yml',
      continue: true,
      notifications: { recipients: ['test@example.com'], onStatus: ['failed'] },
    },
    { name: 'ship', playbook: 'x.yml', notifications: { recipients: ['ship@example.com'], onStatus: ['failed'] } },
    { name: 'tell', playbook: 'x.yml' },
  ]
  const form = { name: 'Release', type: 'multistep', roles: ['public'], fields: [], steps }
  await server.writeForm('release.yml', JSON.stringify({ ...form, notifications: { recipients: ['all@example.com'] } }))
  await addRunner(server, 'edge', { isDefault: true })
  const launched = await server.call('POST', '/job', {
    token: server.admin,
    json: { formName: 'Release', rawFormData: {} },
  })
  const id = Number(launched.body.id)
  const ids: Record<string, number> = {}
  for (const [name, status] of [
    ['build', 'success'],
    ['test', 'failed'],
    ['ship', 'success'],
    ['tell', 'success'],
  ] as const) {
    ids[name] = (await partOf(server, id, name)).id
    await endPart(server, ids[name], status)
  }
  await waitFor('the whole job to end', async () => {
    const { body } = await server.call('GET', `/job/${id}?output=false`, { token: server.admin })
    return body.status !== 'running'
  })
  const records = await look(server)
  expect(records.map(({ event, job_id, recipient, state }) => [event, job_id, recipient, state]).toReversed()).toEqual([
    ['job.ended', ids.build, 'build@example.com', 'sent'],
    ['job.ended', ids.test, 'test@example.com', 'sent'],
    ['job.ended', id, 'all@example.com', 'sent'],
  ])
  expect(mail.mails.find(({ to }) => to[0] === 'test@example.com')?.text).toContain(
    `Job ${ids.test} (Release, test): failed`,
  )
})

test('a workflow sends mails about its parent job, and an approval node about itself', async () => {
  const mail = await mailServer({ hideSTARTTLS: true })
  const nodes = [
    {
      identifier: 'ask',
      unified_job_template: { name: 'Go live', type: 'workflow_approval_template' },
      approval: { roles: ['ops'], notifications: ['boss@example.com'], message: 'Is $(version) good?' },
    },
  ]
  const workflow = { workflow_job_templates: [{ name: 'Flow', related: { workflow_nodes: nodes } }] }
  const server = await start(mail, {}, { 'flow.yml': JSON.stringify(workflow) })
  const form = {
    name: 'Flow',
    type: 'workflow',
    workflow: 'Flow',
    roles: ['public'],
    fields: [{ name: 'version', type: 'text' }],
  }
  const notifications = { recipients: ['all@example.com'], onStatus: ['success'], onEvent: ['approve'] }
  await server.writeForm('flow.yml', JSON.stringify({ ...form, notifications }))
  const json = { formName: 'Flow', rawFormData: { version: '2.0' } }
  const id = Number((await server.call('POST', '/job', { token: server.admin, json })).body.id)
  const statusOf = async () =>
    (await server.call('GET', `/job/${id}?output=false`, { token: server.admin })).body.status
  await waitFor('the approval', async () => (await statusOf()) === 'approve')
  const approved = await server.call('POST', `/job/${id}/approve`, { token: server.admin })
  expect(approved.status, approved.text).toBe(200)
  await waitFor('the end', async () => (await statusOf()) === 'success')
  const records = await look(server)
  expect(records.map(({ event, job_id, recipient, state }) => [event, job_id, recipient, state]).toReversed()).toEqual([
    ['job.approval', id, 'boss@example.com', 'sent'],
    ['job.approve', id, 'all@example.com', 'sent'],
    ['job.ended', id, 'all@example.com', 'sent'],
  ])
  expect(mail.mails[0]?.text).toContain('Is 2.0 good?')
})

test.each([
  ['nobody', {}, 'notifications needs recipients or channels'],
  ['a misspelt property', { recipient: ['a@example.com'] }, 'notifications.recipient is unknown'],
  [
    'an end that there is not',
    { recipients: ['a@b.c'], onStatus: ['done'] },
    'notifications.onStatus may have any, succ',
  ],
  [
    'an event that there is not',
    { recipients: ['a@b.c'], onEvent: ['end'] },
    'notifications.onEvent may have any, launch',
  ],
  ['no text', { recipients: [5] }, 'notifications.recipients must be texts'],
])(
  'a form with wrong notifications does not load, and its error names the mistake: %s',
  async (_, notifications, reason) => {
    const server = await start(null)
    const form = { name: 'Greet', type: 'ansible', playbook: 'x.yml', roles: ['public'], notifications }
    await server.writeForm('greet.yml', JSON.stringify(form))
    const { body } = await server.call('GET', '/forms', { token: server.admin })
    expect(body.errors).toMatchObject([{ form: 'Greet', reason: expect.stringContaining(reason) as string }])
  },
)

test('settings of mail that do not fit together are refused at the start', () => {
  const read = (environment: Record<string, string>) => () =>
    readSettings({ environment, flags: {}, readFile: () => '' }, false)
  expect(read({ SMTP_HOST: 'mail' })).toThrow('MAIL_FROM: is needed when SMTP_HOST is set')
  expect(read({ SMTP_HOST: 'mail', MAIL_FROM: 'a\r\nb@example.com' })).toThrow('MAIL_FROM: must be a mail address')
  const from = { SMTP_HOST: 'mail', MAIL_FROM: 'jobs@example.com' }
  expect(read({ ...from, SMTP_USER: 'me' })).toThrow('SMTP_PASSWORD: is needed, too')
  expect(read({ ...from, SMTP_PASSWORD: 'word' })).toThrow('SMTP_USER: is needed, too')
  expect(read({ ...from, SMTP_TLS: 'tls' })()).toMatchObject({
    mail: { host: 'mail', port: 587, tls: 'tls', login: null },
  })
})
