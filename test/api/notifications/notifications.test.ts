import { createHmac } from 'node:crypto'
import { SOCKET_PATH } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { endJob } from '../../../control-plane/src/jobs/end/ending.js'
import { ATTEMPT_MS, PAUSES_MS } from '../../../control-plane/src/notifications/outbox.js'
import { type AnsweringServer, type AskedRequest, startAnsweringServer } from '../../support/answering-server.js'
import { RawAgent, newIdentity } from '../../support/raw-agent.js'
import { waitFor } from '../../support/wait.js'
import { putJob } from '../job-rows.js'
import { addRunner } from '../runner-row.js'
import { type TestServer, startServer } from '../server.js'

const FORMS = {
  'asks.yaml': `
name: Asks
type: ansible
playbook: hello.yml
roles: [public]
description: Waits for an approval
approval:
  title: Deploy $(size)
  message: "Word $(word)"
  roles: [ops]
fields:
  - name: size
    type: number
    label: Size
  - name: word
    type: password
    label: Word
`,
}

const SECRET = 'a secret of a target, long enough'
const DAY_MS = 24 * 3_600_000
/** Attempts that are to end by themselves; a test calls them when their time shall be up. */
const running = new Set<() => void>()
let server: TestServer
let receiver: AnsweringServer
let user: { token: string }
let isBroken = true
const log: string[] = []

beforeAll(async () => {
  receiver = await startAnsweringServer({
    '/good': {},
    '/flaky': (_: AskedRequest, response) => response.writeHead(isBroken ? 500 : 204).end(),
    '/silent': () => undefined,
    '/moved': (_: AskedRequest, response) => response.writeHead(302, { location: '/good' }).end(),
    '/long': (_: AskedRequest, response) => response.writeHead(200).end('x'.repeat(1024 * 1024)),
    '/packed': (_: AskedRequest, response) => response.writeHead(200, { 'content-encoding': 'zstd' }).end('packed'),
    '/broken-off': (_: AskedRequest, response) =>
      response.writeHead(200, { 'content-length': 10 }).write('half', () => response.destroy()),
    '/long-error': (_: AskedRequest, response) => response.writeHead(500).end('x'.repeat(1024 * 1024)),
  })
  const timers = {
    after(ms: number, run: () => void) {
      if (ms === ATTEMPT_MS) running.add(run)
      return () => void running.delete(run)
    },
    every: () => () => undefined,
  }
  const lives = { ACCESS_TOKEN_EXPIRATION: '90d', ACCESS_TOKEN_REFRESH_EXPIRATION: '90d', SESSION_MAX_AGE: '90d' }
  const settings = { WEBHOOK_ALLOWED_HOSTS: '127.0.0.1', NOTIFICATION_RUNNER_LOST_SECONDS: '1', ...lives }
  server = await startServer({ forms: FORMS, timers, settings, log })
  user = await server.addUser('ann')
})
afterAll(async () => {
  for (const run of running) run()
  await server.close()
  await receiver.close()
})

const asAdmin = (method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: server.admin, ...(json === undefined ? {} : { json }) })

async function makeTarget(path: string, events: readonly string[], url = receiver.url + path) {
  const name = `${path.slice(1)} ${events.join(' ')}`.trim()
  const made = await asAdmin('POST', '/notification-target', { name, url, events, secret: SECRET })
  expect(made).toMatchObject({ status: 200, body: { name, url, events, enabled: true } })
  return Number(made.body.id)
}

const removeTarget = (id: number) => asAdmin('DELETE', `/notification-target/${id}`)

/** What the timer of the product does, until nothing is on its way. */
async function look(): Promise<void> {
  await server.parts.notifications.look()
  await server.parts.notifications.outbox.settled()
}

async function records(query: string): Promise<Record<string, unknown>[]> {
  const answer = await asAdmin('GET', `/notification?${query}`)
  expect(answer.status).toBe(200)
  return answer.body.records as Record<string, unknown>[]
}

async function endedJob(job: Parameters<typeof putJob>[1] = {}): Promise<number> {
  const id = await putJob(server, { status: 'running', dispatch: 'claimed', end_time: null, ...job })
  await server.store.write('test.end', (queries) =>
    endJob(queries, id, { status: 'success', reason: null, detail: null }, server.clock.now()),
  )
  return id
}

const about = (id: number) =>
  receiver.asked.filter(({ body }) => (JSON.parse(body) as { job?: { id: number } }).job?.id === id)

describe('a webhook', () => {
  test('is sent once for the end of a job, with a signature, and the log has it', async () => {
    const target = await makeTarget('/good', ['job.ended'])
    const form = 'Greet "Ann"\n\\ ✨'
    const id = await endedJob({ form, extravars: '{"word":"CANARY-extravar"}' })
    await look()
    await look()
    const [asked, ...more] = about(id)
    expect(more).toEqual([])
    const { headers, body = '' } = asked ?? {}
    expect(JSON.parse(body)).toEqual({
      id: headers?.['x-holdfast-delivery'],
      event: 'job.ended',
      time: new Date(server.clock.now()).toISOString(),
      job: expect.objectContaining({ id, form, status: 'success', url: null }) as object,
    })
    const [, time, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers?.['x-holdfast-signature'])) ?? []
    expect(Number(time)).toBe(Math.floor(server.clock.now() / 1000))
    expect(signature).toBe(
      createHmac('sha256', SECRET)
        .update(`${String(time)}.${body}`)
        .digest('hex'),
    )
    expect(headers).toMatchObject({ 'x-holdfast-event': 'job.ended', 'x-holdfast-attempt': '1' })
    expect(body).not.toContain('CANARY')
    expect(await records(`target=${target}`)).toMatchObject([
      { job_id: id, state: 'sent', channel: 'webhook', attempts: 1, problem: null, next_attempt: null },
    ])
    await removeTarget(target)
  })

  test('goes to the channels that a form or a step names, and else no child job is told', async () => {
    const chat = await makeTarget('/good', [])
    const all = await makeTarget('/good', ['job.ended'])
    const told = { recipients: [], channels: ['good'], onStatus: ['any'], onEvent: [] }
    const notifications = JSON.stringify(told)
    const parent = await endedJob({ notifications })
    const step = await endedJob({ parent_id: parent, notifications })
    const node = await endedJob({ parent_id: parent })
    await look()
    const jobsOf = async (target: number) => (await records(`target=${target}`)).map(({ job_id: id }) => id)
    expect(await jobsOf(chat)).toEqual([step, parent])
    expect(await jobsOf(all)).toEqual([parent])
    expect(await records(`job=${node}`)).toEqual([])
    for (const target of [chat, all]) await removeTarget(target)
  })

  test('is sent again after an error, with the same id, until it arrives', async () => {
    const target = await makeTarget('/flaky', ['job.ended'])
    const id = await endedJob()
    isBroken = true
    await look()
    expect(await records(`target=${target}`)).toMatchObject([
      { state: 'waiting', attempts: 1, problem: `POST ${receiver.url} answered 500` },
    ])
    await look()
    expect(about(id)).toHaveLength(1)
    isBroken = false
    server.clock.move(PAUSES_MS[0] ?? 0)
    await look()
    const [first, second, ...more] = about(id)
    expect(more).toEqual([])
    expect(second?.headers['x-holdfast-delivery']).toBe(first?.headers['x-holdfast-delivery'])
    expect(second?.body).toBe(first?.body)
    expect(await records(`target=${target}`)).toMatchObject([{ state: 'sent', attempts: 2, problem: null }])
    await removeTarget(target)
  })

  test('is given up after the last attempt, and an admin can send it once more', async () => {
    const target = await makeTarget('/flaky', ['job.ended'])
    const id = await endedJob()
    isBroken = true
    for (const pause of [...PAUSES_MS, 0]) {
      await look()
      server.clock.move(pause)
    }
    await look()
    expect(about(id)).toHaveLength(PAUSES_MS.length + 1)
    const [failed] = await records(`target=${target}&state=failed`)
    expect(failed).toMatchObject({ attempts: PAUSES_MS.length + 1, next_attempt: null })
    const { text } = await asAdmin('GET', '/metrics')
    expect(text).toMatch(/^holdfast_notifications_total\{channel="webhook",outcome="failed"\} [1-9]/m)
    isBroken = false
    const retried = await asAdmin('POST', `/notification/${String(failed?.id)}/retry`)
    expect(retried).toMatchObject({ status: 200, body: { state: 'waiting', attempts: 0 } })
    await look()
    expect(await records(`target=${target}&job=${id}`)).toMatchObject([{ state: 'sent' }])
    expect((await asAdmin('POST', '/notification/999999/retry')).status).toBe(404)
    await removeTarget(target)
  })

  test('is tried again when there is no answer, and delays no other target and no job', async () => {
    const silent = await makeTarget('/silent', ['job.ended'])
    const good = await makeTarget('/good', ['job.ended'])
    const ids = [await endedJob(), await endedJob(), await endedJob(), await endedJob()]
    await server.parts.notifications.look()
    await waitFor('the other target', async () => {
      await server.parts.notifications.look()
      return (await records(`target=${good}&state=sent`)).length === ids.length
    })
    await waitFor('two attempts at the silent one', () => receiver.count('/silent') === 2)
    expect((await asAdmin('GET', `/job/${String(ids[0])}`)).body).toMatchObject({ status: 'success' })
    // An attempt that runs cannot be begun a second time.
    const [, , second, first] = await records(`target=${silent}`)
    expect((await asAdmin('POST', `/notification/${String(first?.id)}/retry`)).status).toBe(409)
    expect(second).toMatchObject({ state: 'waiting' })
    await waitFor('the end of each attempt', async () => {
      for (const run of running) run()
      await server.parts.notifications.look()
      return (await records(`target=${silent}`)).every(({ problem }) => problem !== null)
    })
    const waiting = await records(`target=${silent}`)
    expect(waiting.map(({ problem }) => problem)).toEqual(ids.map(() => `${receiver.url} did not answer in time`))
    for (const id of [silent, good]) await removeTarget(id)
    expect(await records(`target=${silent}`)).toMatchObject(
      ids.map(() => ({ state: 'failed', problem: 'The target was removed' })),
    )
  })

  test.each(['/long', '/packed', '/broken-off'])('has arrived if the status says so: %s', async (path) => {
    const target = await makeTarget(path, ['job.ended'])
    await endedJob()
    await look()
    expect(await records(`target=${target}`)).toMatchObject([{ state: 'sent', attempts: 1, problem: null }])
    await removeTarget(target)
  })

  test('follows no redirect', async () => {
    const target = await makeTarget('/moved', [])
    const before = receiver.count('/good')
    const tried = await asAdmin('POST', `/notification-target/${target}/test`)
    expect(tried.body).toMatchObject({ event: 'test', state: 'failed', attempts: 1 })
    expect(tried.body.problem).toBe(`${receiver.url} redirects, and no redirect is followed`)
    expect(receiver.count('/good')).toBe(before)
    await removeTarget(target)
  })

  test('is sent once when a runner asks to join, however often it connects before somebody decides', async () => {
    const target = await makeTarget('/good', ['runner.request'])
    const identity = newIdentity('asks-1')
    for (let time = 0; time < 2; time += 1) {
      const agent = await RawAgent.join(`ws://127.0.0.1:${server.port}${SOCKET_PATH}`, identity)
      await look()
      await agent.leave()
    }
    const sent = receiver.asked.map(({ body }) => JSON.parse(body) as { event: string; runner?: { name: string } })
    expect(sent.filter(({ runner }) => runner?.name === 'asks-1')).toMatchObject([{ event: 'runner.request' }])
    await removeTarget(target)
  })

  test('is sent for an approval with masked values, and for runners that are lost and are back', async () => {
    const target = await makeTarget('/good', ['job.approval', 'runner.lost', 'runner.back'])
    const runner = await addRunner(server, 'lost-1', { isDefault: true })
    const values = { size: 3, word: 'CANARY-word' }
    const launched = await server.call('POST', '/job', {
      token: user.token,
      json: { formName: 'Asks', extravars: values, rawFormData: values },
    })
    const id = Number((launched.body as { id?: number }).id)
    await look()
    expect(about(id).map(({ body }) => JSON.parse(body) as object)).toMatchObject([
      {
        event: 'job.approval',
        job: { id, form: 'Asks', status: 'approve', user: 'ann' },
        approval: { title: 'Deploy 3', message: 'Word ********', roles: ['ops'] },
      },
    ])
    const named = () =>
      receiver.asked.flatMap(({ body }) => {
        const { event, runner: told } = JSON.parse(body) as { event: string; runner?: { name: string } }
        return told?.name === 'lost-1' ? [event] : []
      })
    // It has never been there: after one second of NOTIFICATION_RUNNER_LOST_SECONDS that is told, once.
    await waitFor('the lost runner', async () => {
      await look()
      return named().length > 0
    })
    await look()
    expect(named()).toEqual(['runner.lost'])
    const connect = (node: string | null) =>
      server.store.write('test.connect', (queries) =>
        queries.updateTable('runner').set({ connected_node: node }).where('id', '=', runner.id).execute(),
      )
    await connect(server.parts.nodes.id)
    await look()
    await look()
    expect(named()).toEqual(['runner.lost', 'runner.back'])
    expect(receiver.asked.some(({ body }) => body.includes('CANARY'))).toBe(false)
    await removeTarget(target)
  })
})

describe('targets', () => {
  test('show no secret, and a new random one is shown once', async () => {
    const wish = { name: 'made', url: `${receiver.url}/good`, events: [] }
    const made = await asAdmin('POST', '/notification-target', wish)
    expect(made.body.secret).toMatch(/^[\w-]{43}$/)
    const listed = await asAdmin('GET', '/notification-target')
    expect((listed.body.records as { name: string }[]).map(({ name }) => name)).toEqual(['made'])
    expect(listed.text).not.toContain(String(made.body.secret))
    const [row] = await server.store.read.selectFrom('notification_target').selectAll().execute()
    expect(row?.secret.toString('latin1')).not.toContain(String(made.body.secret))
    expect((await asAdmin('POST', '/notification-target', wish)).status).toBe(409)
    const id = Number(made.body.id)
    const changed = await asAdmin('PUT', `/notification-target/${id}`, {
      events: ['job.ended'],
      enabled: false,
      secret: 'CANARY-of-a-target',
      url: `${receiver.url}/flaky`,
    })
    expect(changed.body).toMatchObject({ events: ['job.ended'], enabled: false, url: `${receiver.url}/flaky` })
    expect(changed.text).not.toContain('CANARY')
    isBroken = false
    expect((await asAdmin('POST', `/notification-target/${id}/test`)).body).toMatchObject({ state: 'sent' })
    const asked = receiver.asked.at(-1)
    const [, time] = /^t=(\d+),/.exec(String(asked?.headers['x-holdfast-signature'])) ?? []
    const expected = createHmac('sha256', 'CANARY-of-a-target').update(`${String(time)}.${asked?.body ?? ''}`)
    expect(asked?.headers['x-holdfast-signature']).toBe(`t=${String(time)},v1=${expected.digest('hex')}`)
    expect(log.join('')).not.toContain('CANARY')
    // One that is turned off is told of nothing, also when others are told.
    const other = await makeTarget('/good', ['job.ended'])
    const job = await endedJob()
    await look()
    expect(await records(`job=${job}`)).toMatchObject([{ recipient: 'good job.ended' }])
    await removeTarget(other)
    expect((await removeTarget(id)).status).toBe(200)
    expect((await removeTarget(id)).status).toBe(404)
  })

  test('get a new secret: it signs the next attempt of waiting webhooks, and the old secret is not used any more', async () => {
    const target = await makeTarget('/flaky', ['job.ended'])
    const id = await endedJob()
    isBroken = true
    await look()
    const next = 'another secret of a target'
    expect((await asAdmin('PUT', `/notification-target/${target}`, { secret: next })).status).toBe(200)
    isBroken = false
    server.clock.move(PAUSES_MS[0] ?? 0)
    await look()
    const signers = about(id).map(({ headers, body }) => {
      const [, time, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-holdfast-signature'])) ?? []
      return [SECRET, next].filter(
        (secret) =>
          signature ===
          createHmac('sha256', secret)
            .update(`${String(time)}.${body}`)
            .digest('hex'),
      )
    })
    expect(signers).toEqual([[SECRET], [next]])
    await removeTarget(target)
  })

  test('are for admins only', async () => {
    const target = await makeTarget('/good', [])
    const calls = [
      ['GET', '/notification-target'],
      ['POST', '/notification-target'],
      ['PUT', `/notification-target/${target}`],
      ['DELETE', `/notification-target/${target}`],
      ['POST', `/notification-target/${target}/test`],
      ['GET', '/notification'],
      ['POST', '/notification/1/retry'],
      ['POST', '/notification/test-mail'],
    ] as const
    for (const [method, path] of calls) {
      const { status } = await server.call(method, path, { token: user.token, json: method === 'GET' ? undefined : {} })
      expect([method, path, status]).toEqual([method, path, 403])
    }
    await removeTarget(target)
  })

  test('with an address that cannot be used are refused with a reason', async () => {
    const refusal = async (url: string) => {
      const answer = await asAdmin('POST', '/notification-target', { name: 'x', url, events: [] })
      return [answer.status, answer.body.error]
    }
    expect(await refusal('no address')).toEqual([400, 'url cannot be used: the URL is not valid'])
    expect(await refusal('ftp://example.com/')).toEqual([400, 'url cannot be used: the URL must be http or https'])
    expect(await refusal('https://me:pass@example.com/')).toEqual([
      400,
      'url cannot be used: the URL must not hold a user or password',
    ])
    expect(await refusal('http://169.254.169.254/')).toEqual([
      400,
      'url cannot be used: the host 169.254.169.254 is not in WEBHOOK_ALLOWED_HOSTS',
    ])
    expect((await asAdmin('GET', '/notification?records=0')).status).toBe(400)
  })

  test('WEBHOOK_DENIED_HOSTS and private addresses are refused also when a name leads to them', async () => {
    const settings = { WEBHOOK_DENIED_HOSTS: 'denied.test' }
    const never = () => () => undefined
    const own = await startServer({ settings, timers: { after: never, every: never } })
    try {
      const make = (url: string) =>
        own.call('POST', '/notification-target', { token: own.admin, json: { name: 'x', url, events: ['job.ended'] } })
      expect((await make('https://denied.test/')).body.error).toContain('is in WEBHOOK_DENIED_HOSTS')
      const made = await make(`http://localhost:${receiver.port}/good`)
      expect(made.status).toBe(200)
      const before = receiver.asked.length
      const id = await putJob(own, { status: 'running', dispatch: 'claimed', end_time: null })
      await own.store.write('test.end', (queries) =>
        endJob(queries, id, { status: 'failed', reason: null, detail: null }, own.clock.now()),
      )
      await own.parts.notifications.look()
      await own.parts.notifications.outbox.settled()
      const { body } = await own.call('GET', '/notification', { token: own.admin })
      // Trying again would meet the same, so there is no second attempt.
      expect(body.records).toMatchObject([
        {
          state: 'failed',
          attempts: 1,
          problem: expect.stringMatching(/is private: webhooks may ask it only when WEBHOOK_ALLOWED_HOSTS/) as string,
        },
      ])
      expect(receiver.asked.length).toBe(before)
    } finally {
      await own.close()
    }
  })
})

test('a stop begins no further deliveries: those that run end, and the others stay for the next start', async () => {
  const held: (() => void)[] = []
  let isSlow = true
  const slow = await startAnsweringServer({
    '/': (_: AskedRequest, response) => {
      const answer = () => void response.writeHead(204).end()
      if (isSlow) held.push(answer)
      else answer()
    },
  })
  const never = () => () => undefined
  const own = await startServer({
    settings: { WEBHOOK_ALLOWED_HOSTS: '127.0.0.1' },
    timers: { after: never, every: never },
  })
  onTestFinished(async () => {
    isSlow = false
    for (const answer of held.splice(0)) answer()
    await own.close()
    await slow.close()
  })
  const { look: lookOnce, outbox } = own.parts.notifications
  const json = { name: 'slow', url: `${slow.url}/`, events: ['job.ended'] }
  expect((await own.call('POST', '/notification-target', { token: own.admin, json })).status).toBe(200)
  for (let count = 0; count < 5; count += 1) {
    const id = await putJob(own, { status: 'running', dispatch: 'claimed', end_time: null })
    await own.store.write('test.end', (queries) =>
      endJob(queries, id, { status: 'success', reason: null, detail: null }, own.clock.now()),
    )
  }
  await lookOnce()
  await waitFor('as many attempts as one target may have', () => held.length === 2)
  let isClosed = false
  void outbox.close().then(() => (isClosed = true))
  for (const answer of held.splice(0)) answer()
  await waitFor('the stop, or another delivery', () => isClosed || held.length > 0)
  expect([isClosed, slow.asked.length]).toEqual([true, 2])
  const { records: left } = (await own.call('GET', '/notification', { token: own.admin })).body
  const states = (left as { state: string; attempts: number }[]).map(({ state, attempts }) => `${state} ${attempts}`)
  expect(states.sort()).toEqual(['sent 1', 'sent 1', 'waiting 0', 'waiting 0', 'waiting 0'])
})

test('NOTIFICATION_RETENTION_DAYS removes notifications that ended long ago, and keeps those that wait', async () => {
  const target = await makeTarget('/flaky', ['job.ended'])
  isBroken = false
  const old = await endedJob()
  await look()
  await server.pass(31 * DAY_MS)
  isBroken = true
  const waiting = await endedJob()
  await look()
  await server.parts.notifications.deliveries.sweep()
  const jobs = (await records(`target=${target}`)).map((record) => record.job_id)
  expect(jobs).toEqual([waiting])
  expect(jobs).not.toContain(old)
  await removeTarget(target)
})
