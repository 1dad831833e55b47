import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.js'
import { waitFor } from '../../support/wait.js'
import { type TestServer, startServer } from '../server.js'

/** Requests to /slow, which are answered when a test says so. */
const slow: (() => void)[] = []

const RECORDS = [
  { name: 'zoe', age: 41, relations: { spouse: 'ann' } },
  { name: 'bob', age: 30, relations: { spouse: 'eve' } },
]

/** A field of the form `asks` with this expression. */
const field = (name: string, expression: string, more = '') =>
  `  - { name: ${name}, type: expression, expression: ${JSON.stringify(expression)}${more} }\n`

let source: AnsweringServer
let server: TestServer
let ann: string

beforeAll(async () => {
  source = await startAnsweringServer({
    '/records': { records: RECORDS },
    '/one': { id: 9007199254740993n.toString(), big: 1 },
    '/slow': (_asked, response) => slow.push(() => response.end('["late"]')),
    '/later': (_asked, response) => void setTimeout(() => response.end('["later"]'), 2500),
    '/echo': ({ headers, method, body }, response) => response.end(JSON.stringify({ headers, method, body })),
    '/elsewhere': (_asked, response) => response.writeHead(302, { location: '/records' }).end(),
    '/broken': (_asked, response) => response.writeHead(503).end('secret words of the server'),
    '/disks': (asked, response) => response.end(JSON.stringify([`disk of ${new URL(asked.path, 'http://x').search}`])),
  })
  const form = [
    'name: asks\ntype: ansible\nplaybook: asks.yml\nroles: [public]\nfields:\n',
    '  - { name: who, type: text, default: zoe }\n',
    `  - { name: person, type: enum, expression: "fn.fnRestBasic('get','${source.url}/records','','svc','[.records[] | {name:.name, age:.age}]','name')" }\n`,
    `  - { name: disk, type: enum, expression: "fn.fnRestBasic('get','${source.url}/disks?of=$(person.name)')" }\n`,
    field('late', `fn.fnRestBasic('get','${source.url}/slow')`),
    field('local', `'hello $(who)'`, ', runLocal: true'),
  ].join('')
  server = await startServer({
    settings: { REST_ALLOWED_HOSTS: '127.0.0.1', SOURCE_TIMEOUT_SECONDS: '60' },
    forms: { 'asks.yaml': form },
    prepare(folder) {
      mkdirSync(join(folder, 'files/logs'), { recursive: true })
      writeFileSync(join(folder, 'files/people.yaml'), '- { name: zoe }\n- { name: bob }\n')
      writeFileSync(join(folder, 'files/deep.json'), '['.repeat(1_000_000))
      writeFileSync(join(folder, 'files/large.json'), '1')
      truncateSync(join(folder, 'files/large.json'), 9 * 1024 * 1024)
      writeFileSync(join(folder, 'outside.yaml'), 'secret: 1\n')
      symlinkSync(join(folder, 'outside.yaml'), join(folder, 'files/link.yaml'))
    },
  })
  await server.writeConfig(
    'roles:\n  - { name: admin, groups: [local/admins] }\n  - { name: public, groups: [local/users] }\n',
  )
  await server.writeCredentials(
    '- { name: svc, user: sam, password: hush-4711 }\n- { name: token, password: token-4711 }\n- { name: bound, user: u, password: p, host: other.example.com }\n',
  )
  ann = (await server.addUser('ann', ['users'])).token
})
afterAll(async () => {
  for (const answer of slow) answer()
  await server.close()
  await source.close()
})

interface ShownField {
  readonly value?: unknown
  readonly choices?: readonly unknown[]
  readonly waiting?: string
  readonly asking?: boolean
}

async function evaluate(
  form: string,
  rawFormData: object,
  { wait = 30, token = ann } = {},
): Promise<Record<string, ShownField>> {
  const { status, body, text } = await server.call('POST', `/forms/${form}/evaluate`, {
    token,
    json: { rawFormData, wait },
  })
  expect(status, text).toBe(200)
  return body.fields as Record<string, ShownField>
}

let forms = 0
/** The value of one expression, or why it has none. */
async function valueOf(expression: string, more = ''): Promise<unknown> {
  const name = `one${(forms += 1)}`
  await server.writeForm(
    `${name}.yaml`,
    `name: ${name}\ntype: ansible\nplaybook: asks.yml\nroles: [public]\nfields:\n${field('f', expression, more)}`,
  )
  const { f } = await evaluate(name, {})
  return f?.waiting === undefined ? f?.value : { waiting: f.waiting }
}

test('a source that does not answer delays only its own field', async () => {
  covers('endpoint.evaluate')
  const first = await evaluate('asks', { person: 'zoe' }, { wait: 0 })
  expect(first.late).toMatchObject({ asking: true })
  // Asked again until the others are there. The slow one has not answered meanwhile.
  let fields = first
  while (fields.disk?.value === undefined && fields.disk?.choices === undefined) {
    fields = await evaluate('asks', { person: 'zoe' }, { wait: 1 })
  }
  expect(fields.person?.choices).toEqual([
    { name: 'bob', age: 30 },
    { name: 'zoe', age: 41 },
  ])
  expect(fields.disk?.choices).toEqual(['disk of ?of=zoe'])
  expect(fields.local).toMatchObject({ value: 'hello zoe' })
  expect(fields.late).toMatchObject({ asking: true, waiting: 'it waits for the answer of its source' })
  expect(slow).toHaveLength(1)
  slow.splice(0).forEach((answer) => answer())
  expect((await evaluate('asks', { person: 'zoe' })).late).toMatchObject({ value: ['late'] })
})

test('what needs the answer of a slow source says so, too, and comes with it', async () => {
  const fields = [
    field('answer', `fn.fnRestBasic('get','${source.url}/slow?needed')`),
    `  - { name: text, type: expression, expression: "'$(answer)'", runLocal: true }\n`,
    `  - { name: choice, type: enum, expression: "['$(nothing)', '$(answer)']" }\n`,
    `  - { name: further, type: expression, expression: "'see $(text)'", runLocal: true, editable: true }\n`,
    `  - { name: shown, type: text, default: x, dependencies: [{ name: answer, values: [late] }] }\n`,
    `  - { name: lost, type: expression, expression: "'$(nothing)'", runLocal: true }\n`,
  ]
  await server.writeForm(
    'needs.yaml',
    `name: needs\ntype: ansible\nplaybook: x.yml\nroles: [public]\nfields:\n${fields.join('')}`,
  )
  const before = await evaluate('needs', {}, { wait: 0 })
  for (const name of ['answer', 'text', 'choice', 'further', 'shown']) {
    expect([name, before[name]]).toMatchObject([name, { asking: true, waiting: expect.any(String) }])
  }
  expect(before.lost).not.toHaveProperty('asking')
  expect(before.lost?.waiting).toBe('it waits for a value of nothing')
  await waitFor('the slow question', () => slow.length > 0)
  slow.splice(0).forEach((answer) => answer())
  const after = await evaluate('needs', {})
  expect(after).toMatchObject({
    text: { value: expect.stringContaining('late') },
    further: { value: expect.any(String) },
  })
  expect(after.choice?.waiting).toBe('it waits for a value of nothing')
  for (const shown of Object.values(after)) expect(shown).not.toHaveProperty('asking')
})

test('an unchanged question is not asked again, but a launch asks all questions', async () => {
  covers('field.waiting')
  const before = source.count('/records')
  await evaluate('asks', { who: 'x', person: 'zoe' })
  await evaluate('asks', { who: 'y', person: 'bob' })
  expect(source.count('/records')).toBe(before)
  expect(source.count('/disks?of=bob')).toBe(1)
  const launch = server.call('POST', '/job', {
    token: ann,
    json: { formName: 'asks', rawFormData: { person: { name: 'zoe' }, disk: 'nothing like it' } },
  })
  await waitFor('the slow question', () => slow.length > 0)
  slow.splice(0).forEach((answer) => answer())
  const { status, body } = await launch
  expect(status).toBe(422)
  expect(body.details).toMatchObject({ invalid: ['disk'], waiting: [] })
  expect(source.count('/records')).toBe(before + 1)
})

test('a user who types on cancels the earlier questions, and may ask again at once', async () => {
  const path = 'held.yaml'
  await server.writeForm(
    path,
    `name: held\ntype: ansible\nplaybook: x.yml\nroles: [public]\nfields:\n${field('f', `fn.fnRestBasic('get','${source.url}/slow?held')`)}`,
  )
  const bob = (await server.addUser('bob', ['users'])).token
  const ask = (wait: number, signal: AbortSignal | null = null) =>
    fetch(`${server.url}/api/v2/forms/held/evaluate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${bob}` },
      body: JSON.stringify({ rawFormData: {}, wait }),
      signal,
    })
  const gone = new AbortController()
  // Four of them are held. Whichever comes last is one too many.
  const held = Array.from({ length: 5 }, () => ask(60, gone.signal))
  expect((await Promise.race(held)).status).toBe(429)
  await waitFor('the slow question', () => slow.length > 0)
  gone.abort()
  await Promise.allSettled(held)
  await waitFor('the next evaluation', async () => (await ask(0)).status === 200)
  // The source was asked once, and is still asked.
  expect(slow).toHaveLength(1)
  slow.splice(0).forEach((answer) => answer())
})

test('a question that a page asks again after it went away goes on until its answer', async () => {
  const fields = field('f', `fn.fnRestBasic('get','${source.url}/later')`)
  await server.writeForm(
    'later.yaml',
    `name: later\ntype: ansible\nplaybook: x.yml\nroles: [public]\nfields:\n${fields}`,
  )
  await evaluate('later', {}, { wait: 0 })
  expect((await evaluate('later', {})).f).toMatchObject({ value: ['later'] })
})

describe('fn.fnRest…', () => {
  test('asks with a stored credential, filters with jq and sorts', async () => {
    const jq = `'[.records[] | {name:.name, spouse:.relations.spouse}]'`
    expect(await valueOf(`fn.fnRestBasic('get','${source.url}/records','','svc',${jq},'name',false)`)).toEqual([
      { name: 'bob', spouse: 'eve' },
      { name: 'zoe', spouse: 'ann' },
    ])
    const basic = Buffer.from('sam:hush-4711').toString('base64')
    expect(source.asked.at(-1)?.headers.authorization).toBe(`Basic ${basic}`)
    const sorted = await valueOf(
      `fn.fnRestJwt('get','${source.url}/records','','in-text','[.records[] | {name:.name, age:.age}]',['age','name'])`,
    )
    expect(sorted).toMatchObject([{ age: 30 }, { age: 41 }])
    expect(source.asked.at(-1)?.headers.authorization).toBe('Bearer in-text')
    const jwt = `fn.fnRestJwtSecure('get','${source.url}/records','','token','.records[].name','',false,'Token')`
    expect(await valueOf(jwt)).toEqual(['zoe', 'bob'])
    expect(source.asked.at(-1)?.headers.authorization).toBe('Token token-4711')
  })

  test('sends its own body and headers with parts of credentials, and no script sees the secrets', async () => {
    const headers = `{'X-One':'basic base64(svc)','x-two':'username(svc)/password(token)'}`
    await valueOf(`fn.fnRestAdvanced('post','${source.url}/broken',{a:1},${headers})`)
    const last = source.asked.at(-1)
    expect([last?.method, last?.body]).toEqual(['POST', '{"a":1}'])
    expect(last?.headers['x-one']).toBe(`basic ${Buffer.from('sam:hush-4711').toString('base64')}`)
    expect(last?.headers['x-two']).toBe('sam/token-4711')
    const raw = await valueOf(`fn.fnRestAdvanced('get','${source.url}/one','',{},'','',false,true)`)
    expect(raw).toMatchObject({ data: { big: 1 }, response_headers: { 'content-type': 'application/json' } })
    expect(await valueOf(`fn.fnCredentials('none','svc')`)).toEqual({
      name: 'svc',
      user: 'sam',
      host: null,
      port: null,
      password: 'password(svc)',
    })
    const token = `fn.fnCredentials('svc').then(c => fn.fnRestJwt('get','${source.url}/broken','',c.password))`
    expect(await valueOf(token)).toMatchObject({ waiting: expect.stringContaining('answered 503') as string })
    expect(source.asked.at(-1)?.headers.authorization).toBe('Bearer hush-4711')
  })

  test('names the problem, without the answer of the server', async () => {
    const waiting = (await valueOf(`fn.fnRestBasic('get','${source.url}/broken?token=x')`)) as { waiting: string }
    expect(waiting.waiting).toBe(`its expression failed: GET ${source.url}/broken answered 503`)
    expect(await valueOf(`fn.fnRestBasic('get','${source.url}/records','','nobody')`)).toEqual({
      waiting: "its expression failed: there is no credential 'nobody'",
    })
    expect(await valueOf(`fn.fnRestBasic('get','${source.url}/records','','bound')`)).toEqual({
      waiting: "its expression failed: the credential 'bound' is for the host other.example.com only",
    })
  })

  test('promises may be awaited, chained and joined, and a script in between asks one after the other', async () => {
    const names = `fn.fnRestBasic('get','${source.url}/records','','','[.records[].name]')`
    expect(await valueOf(`(await ${names}).join('+')`)).toBe('zoe+bob')
    expect(await valueOf(`Promise.all([${names}, fn.fnJq({a: 1}, '.a')])`)).toEqual([['zoe', 'bob'], 1])
    const second = `${names}.then(all => fn.fnRestBasic('get','${source.url}/disks?of=' + all[1]))`
    expect(await valueOf(second)).toEqual(['disk of ?of=bob'])
    expect(await valueOf(`fn.fnRestBasic('get','${source.url}/elsewhere','','','.records | length')`)).toBe(2)
  })

  test('asks only in expressions that the server evaluates', async () => {
    expect(await valueOf(`fn.fnRestBasic('get','${source.url}/records')`, ', runLocal: true')).toEqual({
      waiting:
        'its expression failed: fn.fnRestBasic asks a source, which only an expression of a field without runLocal can',
    })
  })
})

describe('the other functions that ask', () => {
  test('read nothing outside of their folder, also not through a link, and nothing that would fill the memory', async () => {
    const outside = { waiting: expect.stringContaining('is not below the folder') as string }
    for (const path of ['../outside.yaml', 'link.yaml', '/etc/hostname', 'logs/../../outside.yaml']) {
      expect(await valueOf(`fn.fnReadYamlFile('${path}')`), path).toEqual(outside)
    }
    expect(await valueOf(`fn.fnLs('/')`)).toEqual(outside)
    for (const [path, reason] of [
      ['none.yaml', 'there is no file none.yaml'],
      ['large.json', 'is too large'],
      ['deep.json', '100 levels'],
    ] as const) {
      const waiting = expect.stringContaining(reason) as string
      expect(await valueOf(`fn.fnReadJsonFile('${path}')`)).toMatchObject({ waiting })
    }
  })

  test('jq is the real program, in expressions and as a property, and cannot run for ever', async () => {
    expect(await valueOf(`fn.fnJq([3,1,2], 'sort | map(. * 2)')`)).toEqual([2, 4, 6])
    expect(await valueOf('[{a: 1}, {a: 2}]', `, jq: '[.[].a] | add'`)).toBe(3)
    expect(await valueOf(`fn.fnJq({}, '.a | error("no")')`)).toMatchObject({
      waiting: expect.stringContaining('no') as string,
    })
    expect(await valueOf(`fn.fnJq(null, 'env.HOME')`)).not.toBe(process.env.HOME)
  })

  test('a credential that a value names must be allowed to the user by role', async () => {
    await server.writeConfig(
      'roles:\n  - { name: admin, groups: [local/admins] }\n  - { name: public, groups: [local/users], credentials: [token] }\n',
    )
    const chosen = (name: string) => `fn.fnCredentials('$(c)').then(c => c.name + '${name}')`
    const more = `  - { name: c, type: text, default: svc }\n`
    await server.writeForm(
      'chosen.yaml',
      `name: chosen\ntype: ansible\nplaybook: x.yml\nroles: [public]\nfields:\n${more}${field('f', chosen(''))}${field('g', `fn.fnCredentials('svc').then(c => c.user)`)}`,
    )
    const fields = await evaluate('chosen', {})
    expect(fields.f?.waiting).toContain("your roles do not allow the credential 'svc'")
    expect(fields.g?.value).toBe('sam')
    expect((await evaluate('chosen', { c: 'token' })).f?.value).toBe('token')
  })

  test('an answer that came with a credential of a list is only for users whose roles allow that credential', async () => {
    await server.writeConfig(
      'roles:\n  - { name: admin, groups: [local/admins] }\n  - { name: public, groups: [local/users], credentials: [token] }\n' +
        '  - { name: ops, groups: [local/ops], credentials: [svc] }\n',
    )
    const oscar = (await server.addUser('oscar', ['ops'])).token
    await server.writeForm(
      'listed.yaml',
      `name: listed\ntype: ansible\nplaybook: x.yml\nroles: [public, ops]\nfields:\n  - { name: c, type: text }\n${field('f', `fn.fnCredentials('$(c)').then(c => c.name)`)}`,
    )
    for (const c of ['svc,nobody', ` svc,${' '.repeat(1100)}`]) {
      expect((await evaluate('listed', { c }, { token: oscar })).f?.value, 'oscar').toBe('svc')
      expect((await evaluate('listed', { c })).f?.waiting, 'ann').toContain('your roles do not allow')
    }
  })
})

test('with LAUNCH_VALIDATION=log no source delays a launch, and the log line comes after its answer', async () => {
  const log: string[] = []
  const form = { name: 'late', type: 'ansible', playbook: 'x.yml', roles: ['default'] }
  const choice = { name: 'disk', type: 'enum', expression: `fn.fnRestBasic('get','${source.url}/slow','','svc')` }
  const logging = await startServer({
    settings: { LAUNCH_VALIDATION: 'log', REST_ALLOWED_HOSTS: '127.0.0.1', SOURCE_TIMEOUT_SECONDS: '60' },
    forms: { 'late.yaml': JSON.stringify({ ...form, fields: [choice] }) },
    log,
  })
  try {
    await logging.writeCredentials('- { name: svc, user: sam, password: hush-4711 }\n')
    const json = { formName: 'late', extravars: { disk: 'none' }, rawFormData: { disk: 'none' } }
    expect(await logging.call('POST', '/job', { token: logging.admin, json })).toMatchObject({ status: 200 })
    expect(log.join()).not.toContain('would refuse')
    await waitFor('the source to be asked', () => Promise.resolve(slow.length > 0 ? true : null))
    slow.splice(0).forEach((answer) => answer())
    await waitFor('the log', () => Promise.resolve(log.join().includes('disk (choice)') ? true : null))
    const { body } = await logging.call('GET', '/forms', { token: logging.admin })
    expect(body.needs).toEqual([
      { form: 'late', needs: [{ feature: 'rest', fields: ['disk'], names: ['fn.fnRestBasic'] }] },
    ])
  } finally {
    await logging.close()
  }
})
