import { afterAll, beforeAll, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.js'
import { type TestServer, startServer } from '../server.js'

/** How long answers of sources are good for: what `refresh` and `cache` of a field say, with a clock that a test holds. */
const FIELDS: Readonly<Record<string, object>> = {
  usual: {},
  button: { refresh: true },
  refreshed: { refresh: '5s' },
  seconds: { refresh: 7 },
  cached: { cache: '2m' },
  both: { cache: '90', refresh: '5s' },
  never: { cache: 0 },
  nonsense: { refresh: 'often' },
}

let source: AnsweringServer
let server: TestServer

beforeAll(async () => {
  source = await startAnsweringServer({
    ...Object.fromEntries(Object.keys(FIELDS).map((name) => [`/${name}`, [name]])),
    '/failing': (_asked, response) => response.writeHead(503).end(),
    '/by': ({ path }, response) => response.end(JSON.stringify([path])),
  })
  const rest = (path: string) => `fn.fnRestBasic('get','${source.url}/${path}')`
  const fields = [
    { name: 'who', type: 'text', default: 'ann' },
    ...Object.entries(FIELDS).map(([name, times]) => ({ name, type: 'enum', expression: rest(name), ...times })),
    { name: 'failing', type: 'enum', expression: rest('failing'), cache: '10m' },
    { name: 'by', type: 'enum', expression: rest('by?who=$(who)'), refresh: '5s' },
  ]
  const form = { name: 'timed', type: 'ansible', playbook: 'x.yml', roles: ['default'], fields }
  server = await startServer({
    settings: { REST_ALLOWED_HOSTS: '127.0.0.1' },
    holdSteady: true,
    forms: { 'timed.yaml': JSON.stringify(form) },
  })
})
afterAll(async () => {
  await server.close()
  await source.close()
})

async function evaluate(rawFormData: object = {}, token = server.admin): Promise<void> {
  const json = { rawFormData, wait: 60 }
  const { status, body, text } = await server.call('POST', '/forms/timed/evaluate', { token, json })
  expect(status, text).toBe(200)
  expect(body.fields).toMatchObject({ usual: { choices: ['usual'] }, never: { choices: ['never'] } })
}

/** Which sources are asked by an evaluation, so much later. */
async function askedAfter(ms: number, rawFormData: object = {}, token = server.admin): Promise<string[]> {
  server.clock.move(ms)
  const before = source.asked.length
  await evaluate(rawFormData, token)
  return source.asked
    .slice(before)
    .map(({ path }) => path.slice(1))
    .sort()
}

test('an answer is used for a minute, or for the time of its field', async () => {
  covers('endpoint.evaluate')
  expect(await askedAfter(0)).toEqual([...Object.keys(FIELDS), 'failing', 'by?who=ann'].sort())
  // Seconds after the first evaluation:      asked again
  expect(await askedAfter(2_999)).toEqual(['never']) // 2.999
  expect(await askedAfter(1)).toEqual(['failing', 'never']) // 3
  expect(await askedAfter(1_999)).toEqual(['never']) // 4.999
  expect(await askedAfter(1)).toEqual(['by?who=ann', 'never', 'refreshed']) // 5
  expect(await askedAfter(1_999)).toEqual(['failing', 'never']) // 6.999
  expect(await askedAfter(1)).toEqual(['never', 'seconds']) // 7
  expect(await askedAfter(52_999)).toEqual(['by?who=ann', 'failing', 'never', 'refreshed', 'seconds']) // 59.999
  expect(await askedAfter(1)).toEqual(['button', 'never', 'nonsense', 'usual']) // 60
  expect(await askedAfter(30_000)).toEqual(['both', 'by?who=ann', 'failing', 'never', 'refreshed', 'seconds']) // 90
  const all = ['button', 'by?who=ann', 'cached', 'failing', 'never', 'nonsense', 'refreshed', 'seconds', 'usual']
  expect(await askedAfter(30_000)).toEqual(all) // 120
})

test('other users get the same answer, and another value is another question', async () => {
  const ben = (await server.addUser('ben')).token
  // Making a user takes no time of this clock.
  await evaluate()
  expect(await askedAfter(0, {}, ben)).toEqual(['never'])
  expect(await askedAfter(0, { who: 'ben' }, ben)).toEqual(['by?who=ben', 'never'])
  expect(await askedAfter(0, { who: 'ann' }, ben)).toEqual(['never'])
  expect(await askedAfter(0, { who: 'ben' })).toEqual(['never'])
})

test('a launch asks each source once, also when an answer is kept', async () => {
  await evaluate()
  const before = source.asked.length
  const { status, body } = await server.call('POST', '/job', {
    token: server.admin,
    json: { formName: 'timed', rawFormData: { who: 'cyd' } },
  })
  // The source that fails is one that the launch waits for in vain.
  expect([status, (body.details as { waiting?: unknown }).waiting]).toEqual([422, ['failing']])
  const asked = source.asked.slice(before).map(({ path }) => path.slice(1))
  expect(asked.sort()).toEqual([...Object.keys(FIELDS), 'failing', 'by?who=cyd'].sort())
})
