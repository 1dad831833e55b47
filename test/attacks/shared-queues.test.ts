import { readFileSync } from 'node:fs'
import { type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { type AnsweringServer, startAnsweringServer } from '../support/answering-server.js'
import { startSshd, whyNoSshd } from '../support/sshd.js'
import { createTestDatabase } from '../support/test-database.js'
import { heldTimers } from '../api/held-timers.js'
import { type ServerOptions, type TestServer, startServer } from '../api/server.js'

/**
 * Several people ask the same source. One of them has much slow work there. No time limit ends this work, because the
 * test holds the timers. So everybody else gets an answer only if they get a turn beside it.
 */
const MANY = Array.from({ length: 24 }, (_, at) => at)
const PEOPLE = ['bob', 'ann', 'cem', 'dan', 'eve'] as const
type Person = (typeof PEOPLE)[number]

/** A form with one field that a person's own value goes into, and with many more of the same. */
const formWith = (name: string, expressionOf: (at: number) => string, more: readonly object[] = []) =>
  JSON.stringify({
    name,
    type: 'ansible',
    playbook: 'x.yml',
    roles: ['default'],
    fields: [
      { name: 'who', type: 'text' },
      { name: 'q', type: 'text' },
      ...more,
      ...(more.length > 0
        ? []
        : MANY.map((at) => ({ name: `f${at}`, type: 'expression', expression: expressionOf(at) }))),
    ],
  })
const one = (name: string, expression: string) =>
  formWith(name, () => '', [{ name: 'f', type: 'expression', expression }])

let server: TestServer | null = null
/** Closes every request that is open. */
let leaving = new AbortController()
afterEach(async () => {
  leaving.abort()
  leaving = new AbortController()
  await server?.close()
  server = null
})

async function started(forms: Readonly<Record<string, string>>, settings: ServerOptions['settings'] = {}) {
  const held = heldTimers()
  const made = await startServer({
    timers: held.timers,
    forms: Object.fromEntries(Object.entries(forms).map(([name, text]) => [`${name}.yaml`, text])),
    settings: { LAUNCH_VALIDATION: 'enforce', REST_ALLOWED_HOSTS: '127.0.0.1', ...settings },
  })
  server = made
  const tokens = new Map<string, string>()
  for (const person of PEOPLE) tokens.set(person, (await made.addUser(person)).token)
  const tokenOf = (person: Person) => tokens.get(person) ?? ''
  return {
    held,
    made,
    tokenOf,
    /** What a field of a form is for this person, once its source has answered. */
    async fields(person: Person, form: string, values: object = {}) {
      const json = { wait: 60, rawFormData: { who: person, ...values } }
      const { status, body, text } = await made.call('POST', `/forms/${form}/evaluate`, {
        token: tokenOf(person),
        json,
      })
      expect(status, text).toBe(200)
      return body.fields as Record<string, { value?: unknown; waiting?: string }>
    },
    /** Begins an evaluation that has no end of its own. */
    begin(person: Person, form: string, values: object = {}) {
      const stop = new AbortController()
      leaving.signal.addEventListener('abort', () => stop.abort())
      const ended = fetch(`${made.url}/api/v2/forms/${form}/evaluate`, {
        method: 'POST',
        signal: stop.signal,
        headers: { authorization: `Bearer ${tokenOf(person)}`, 'content-type': 'application/json' },
        body: JSON.stringify({ wait: 60, rawFormData: { who: person, ...values } }),
      }).catch(() => undefined)
      const one = { isOver: false, close: () => stop.abort() }
      void ended.then(() => (one.isOver = true))
      return one
    },
  }
}

test('slow filters of one person stop jq neither for evaluations nor for launches of others', async () => {
  const site = await started({
    slow: formWith('slow', (at) => `fn.fnJq([${at}, $(who)],'[.[]|select(test("$(q)"))] | last(range(1e15))')`),
    endless: formWith('endless', (at) => `fn.fnJq([${at}, $(who)],'last(range(1e15))')`),
    quick: one('quick', `fn.fnJq([$(who)],'.[0]')`),
  })
  for (const form of ['slow', 'endless']) site.begin('bob', form, { q: 'a' })
  await expect.poll(() => site.held.count()).toBeGreaterThan(2 * MANY.length)
  expect((await site.fields('ann', 'quick')).f).toMatchObject({ value: 'ann' })
  const json = { formName: 'quick', rawFormData: { who: 'ann' } }
  const { status, text } = await site.made.call('POST', '/job', { token: site.tokenOf('ann'), json })
  expect(status, text).toBe(200)
})

test('a filter that a person may have chosen has less time than one of the author', async () => {
  const site = await started({
    typed: one('typed', `fn.fnJq([$(who)],'$(q)')`),
    written: one('written', `fn.fnJq([$(who)],'last(range(1e15))')`),
  })
  const timeOf = async (form: string) => {
    const answer = site.fields('ann', form, { q: 'last(range(1e15))' })
    let isAnswered = false
    void answer.finally(() => (isAnswered = true))
    // The time goes on in steps that are much shorter than any limit.
    const isOver = () => {
      if (!isAnswered) site.held.move(100)
      return isAnswered
    }
    await expect.poll(isOver).toBe(true)
    return Number(/longer than (\d+) ms/.exec((await answer).f?.waiting ?? '')?.[1])
  }
  expect(await timeOf('typed')).toBeLessThan(await timeOf('written'))
})

/** A host whose answers to `/slow` never come, unless the test sends them. */
async function slowHost(): Promise<AnsweringServer & { readonly open: Map<string, ServerResponse> }> {
  const open = new Map<string, ServerResponse>()
  const host = await startAnsweringServer({
    '/quick': { is: 'here' },
    '/slow': ({ path }, response) => {
      open.set(path, response)
      response.once('close', () => open.delete(path))
    },
  })
  onTestFinished(() => host.close())
  return { ...host, open, close: () => host.close() }
}

const restForms = (url: string) => ({
  slow: formWith('slow', (at) => `fn.fnRestBasic('get','${url}/slow?$(who)-${at}')`),
  slowone: one('slowone', `fn.fnRestBasic('get','${url}/slow?$(who)')`),
  quick: one('quick', `fn.fnRestBasic('get','${url}/quick?$(who)')`),
})

/** The places that one person gets at this host, at most. The others wait. */
async function placesTaken(host: { readonly open: ReadonlyMap<string, unknown> }): Promise<number> {
  await expect.poll(() => host.open.size).toBeGreaterThan(0)
  let before = -1
  await expect
    .poll(() => {
      const isSame = host.open.size === before
      before = host.open.size
      return isSame
    })
    .toBe(true)
  return before
}

test('a host that hangs for one person answers another one', async () => {
  const host = await slowHost()
  const site = await started(restForms(host.url))
  site.begin('bob', 'slow')
  const places = await placesTaken(host)
  expect((await site.fields('ann', 'quick')).f).toMatchObject({ value: { is: 'here' } })
  const json = { formName: 'quick', rawFormData: { who: 'ann' } }
  expect((await site.made.call('POST', '/job', { token: site.tokenOf('ann'), json })).status).toBe(200)
  expect(host.open.size).toBe(places)
})

test('a place that becomes free is for the person who has fewest, not for who asked first', async () => {
  const host = await slowHost()
  const site = await started(restForms(host.url), { SOURCE_TIMEOUT_SECONDS: '43' })
  const slowOf = (person: Person) => [...host.open.keys()].filter((path) => path.includes(person)).length
  // Each open question has a limit of time, so the number of these limits says that all of them have been asked.
  const asking = async (person: Person, form: string, all: number) => {
    site.begin(person, form)
    await expect.poll(() => site.held.countOf(43_000)).toBe(all)
  }
  await asking('bob', 'slow', MANY.length)
  await asking('cem', 'slow', 2 * MANY.length)
  await asking('dan', 'slow', 3 * MANY.length)
  await asking('eve', 'slowone', 3 * MANY.length + 1)
  await asking('ann', 'slowone', 3 * MANY.length + 2)
  await expect.poll(() => slowOf('bob')).toBeGreaterThan(0)
  const [, response] = [...host.open].find(([path]) => path.includes('bob')) ?? []
  response?.end('1')
  await expect.poll(() => [slowOf('ann'), slowOf('eve')]).toEqual([1, 1])
})

test('the work of a person who has gone ends, unless somebody else waits for it, too', async () => {
  const host = await slowHost()
  const site = await started(
    {
      ...restForms(host.url),
      shared: one('shared', `fn.fnRestBasic('get','${host.url}/slow?for-all')`),
    },
    { SOURCE_TIMEOUT_SECONDS: '43' },
  )
  const leave = [site.begin('bob', 'slow'), site.begin('bob', 'shared')]
  // Each open question has a limit of time.
  await expect.poll(() => site.held.countOf(43_000)).toBe(MANY.length + 1)
  const shared = site.fields('ann', 'shared')
  await expect.poll(() => host.open.has('/slow?for-all')).toBe(true)
  for (const { close } of leave) close()
  // A page that asks again soon finds its questions, so they go on for a while.
  await expect.poll(() => site.held.countOf(2000)).toBeGreaterThanOrEqual(MANY.length)
  site.held.move(2000)
  await expect.poll(() => [...host.open.keys()]).toEqual(['/slow?for-all'])
  // What had not begun never does.
  expect(host.asked.length).toBeLessThan(MANY.length)
  host.open.get('/slow?for-all')?.end('"together"')
  expect((await shared).f).toMatchObject({ value: 'together' })
})

test('a question that one person asked before does not wait behind the other questions of that person', async () => {
  const host = await slowHost()
  const site = await started({
    slow: formWith('slow', (at) => `fn.fnRestBasic('get','${host.url}/slow?all-${at}')`),
  })
  site.begin('bob', 'slow')
  const places = await placesTaken(host)
  const last = `/slow?all-${MANY.at(-1)}`
  expect(host.open.has(last)).toBe(false)
  site.begin('ann', 'slow')
  await expect.poll(() => host.open.size).toBeGreaterThan(places)
})

test('slow statements of one person leave a connection to the database to others', async () => {
  const database = await createTestDatabase(tmpdir(), 'postgres')
  onTestFinished(() => database.remove())
  const url = new URL(database.url)
  const query = (at: number) => ({
    name: `f${at}`,
    type: 'query',
    dbConfig: { name: 'inventory', type: 'postgres' },
    query: `select case when '$(who)' = 'bob' then pg_sleep(20)::text else '$(who)-${at}' end as v`,
    valueColumn: 'v',
  })
  const site = await started({
    slow: formWith('slow', () => '', MANY.map(query)),
    quick: formWith('quick', () => '', [query(0)]),
  })
  const json = {
    name: 'inventory',
    type: 'database',
    host: url.hostname,
    port: Number(url.port),
    user: url.username,
    password: url.password,
    options: { db_type: 'postgres', db_name: url.pathname.slice(1) },
  }
  expect((await site.made.call('POST', '/credential', { token: site.made.admin, json })).status).toBe(200)
  const slow = site.begin('bob', 'slow')
  await expect.poll(() => site.held.count()).toBeGreaterThan(MANY.length)
  expect((await site.fields('ann', 'quick')).f0).toMatchObject({ choices: [{ v: 'ann-0' }] })
  expect(slow.isOver).toBe(false)
})

test.skipIf(whyNoSshd() !== null)('slow commands of one person leave a turn at the host to others', async () => {
  const sshd = await startSshd()
  onTestFinished(() => sshd.close())
  const run = `fn.fnSsh('root','127.0.0.1:${sshd.port}','sleep $(q) # $(who)`
  const site = await started(
    { slow: formWith('slow', (at) => `${run}-${at}')`), quick: one('quick', `${run}')`) },
    { FORM_SSH_HOSTS: '127.0.0.0/8', FORM_SSH_CREDENTIAL: 'operations', FORM_SSH_KNOWN_HOSTS: sshd.knownHosts },
  )
  const json = { name: 'operations', type: 'ssh', password: readFileSync(sshd.key, 'utf8') }
  expect((await site.made.call('POST', '/credential', { token: site.made.admin, json })).status).toBe(200)
  const slow = site.begin('bob', 'slow', { q: '20' })
  await expect.poll(() => site.held.count()).toBeGreaterThan(MANY.length)
  expect((await site.fields('ann', 'quick', { q: '0' })).f).toMatchObject({ value: [] })
  expect(slow.isOver).toBe(false)
})
