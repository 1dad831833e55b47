import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { type AnsweringServer, startAnsweringServer } from '../support/answering-server.js'

/**
 * People who fill in a form type texts that read like what its author writes: `password(name)`, the names of credentials,
 * servers. Only where a text comes from counts. So nothing that they type opens or sends a secret.
 */
let server: TestServer
let source: AnsweringServer
let ann: string

const SECRETS: Readonly<Record<string, string>> = {
  tok: 'CANARY-token',
  locked: 'CANARY-locked',
  mine: 'own-password',
  api: 'CANARY-api',
}

beforeAll(async () => {
  source = await startAnsweringServer({
    '/tok/echo': ({ headers }, response) => response.end(JSON.stringify(headers)),
    '/names': ['locked'],
  })
  server = await startServer({
    holdSteady: true,
    settings: { REST_ALLOWED_HOSTS: '127.0.0.1,localhost', ACCESS_TOKEN_EXPIRATION: '24h' },
  })
  await server.writeConfig(
    'roles:\n  - { name: admin, groups: [local/admins] }\n  - { name: public, groups: [local/users], credentials: [mine] }\n',
  )
  ann = (await server.addUser('ann', ['users'])).token
  for (const [name, password] of Object.entries(SECRETS)) {
    const json = { name, type: 'userpass', user: `user-${name}`, password }
    expect((await server.call('POST', '/credential', { token: server.admin, json })).status).toBe(200)
  }
})
afterAll(async () => {
  await server.close()
  await source.close()
})

/** What a form says whose field `ans` has this expression, when somebody types these values. */
async function ask(expression: string, values: object = {}, more: readonly object[] = [], functions = '') {
  const named = Object.keys(values).map((name) => ({ name, type: 'text' }))
  const known = new Set(more.map((field) => (field as { name: string }).name))
  const fields = [
    ...named.filter(({ name }) => !known.has(name)),
    ...more,
    { name: 'ans', type: 'expression', expression },
  ]
  const real = (text: string) => text.replaceAll('URL', source.url).replaceAll('PORT', String(source.port))
  writeFileSync(join(server.folder, 'functions.js'), real(functions))
  // No answer of an earlier question is used.
  server.clock.move(2 * 60_000)
  await server.writeForm(
    'asks.yaml',
    real(JSON.stringify({ name: 'asks', type: 'ansible', playbook: 'x.yml', roles: ['public'], fields })),
  )
  const before = source.asked.length
  const { status, body, text } = await server.call('POST', '/forms/asks/evaluate', {
    token: ann,
    json: { rawFormData: JSON.parse(real(JSON.stringify(values))) as object, wait: 30 },
  })
  expect(status, text).toBe(200)
  const { ans } = body.fields as { ans: { value?: unknown; waiting?: string } }
  return { ans, text: JSON.stringify(body), asked: source.asked.slice(before) }
}

const sentBy = (asked: { readonly asked: AnsweringServer['asked'] }) =>
  asked.asked.map(({ headers }) => [headers.authorization, headers['x-note']].filter((one) => one !== undefined))

const basic = (name: string) => `Basic ${Buffer.from(`user-${name}:${SECRETS[name]}`).toString('base64')}`
const url = (path = '/tok/echo') => `'URL${path}'`

describe('who types what stands for a secret sends that text, and no secret', () => {
  const header = (note: string, before = '') =>
    `${before}fn.fnRestAdvanced('get',${url()},'',{Authorization:'Bearer password(tok)','X-Note':${note}})`

  test.each([
    ['a header of its own', header('$(note)'), 'password(tok)', 'password(tok)'],
    ['a text of the author', header("'note: $(note)'"), 'password(tok)', 'note: password(tok)'],
    ['a template', header('`note: ${$(note)}`'), 'base64(tok)', 'note: base64(tok)'],
    ['a variable', header('note', 'const note = $(note); '), 'username(tok)', 'username(tok)'],
    ['a part of the text', header("'pass' + $(note)"), 'word(tok)', 'password(tok)'],
    ['a replaced part', header("'x'.replace('x', $(note))"), 'password(tok)', 'password(tok)'],
    ['a part of what stands for a secret', header("'password(X)'.replace('X', $(note))"), 'tok', 'password(tok)'],
    ['capitals', header('$(note)'), 'PASSWORD(tok)', 'PASSWORD(tok)'],
  ])('as %s', async (_, expression, note, sent) => {
    expect(sentBy(await ask(expression, { note }))).toEqual([[`Bearer ${SECRETS.tok}`, sent]])
  })

  test('also as a token', async () => {
    const got = await ask(`fn.fnRestJwt('get',${url()},'',$(token)) // tok`, { token: 'password(tok)' })
    expect(sentBy(got)).toEqual([['Bearer password(tok)']])
  })

  test('also behind a parenthesis that the author opens: the role decides about each name', async () => {
    for (const note of ['locked', 'locked),password(tok', 'mine)password(locked']) {
      const got = await ask(header("'password(' + $(note) + ')'"), { note })
      if (note.startsWith('mine'))
        expect(sentBy(got)).toEqual([[`Bearer ${SECRETS.tok}`, 'own-passwordpassword(locked)']])
      else expect(got.ans.waiting).toContain("do not allow the credential 'locked'")
    }
  })

  test('also in a name that the author completes: its role decides', async () => {
    const named = header("'password($(note))'")
    expect((await ask(named, { note: 'locked' })).ans.waiting).toContain("do not allow the credential 'locked'")
    expect(sentBy(await ask(named, { note: 'mine' }))).toEqual([[`Bearer ${SECRETS.tok}`, SECRETS.mine]])
  })
})

describe('a name that somebody types needs a role', () => {
  const refused = (name: string) =>
    expect.stringContaining(`your roles do not allow the credential '${name}'`) as string

  test.each([
    ['a word of the URL', `fn.fnRestBasic('get',${url()},'',$(cred))`, 'tok'],
    ['a word of a comment', `fn.fnRestBasic('get',${url()},'',$(cred)) // locked`, 'locked'],
    ['a text of the expression', `'locked' === $(cred) ? fn.fnRestBasic('get',${url()},'',$(cred)) : 1`, 'locked'],
    ['another choice', `fn.fnRestBasic('get',${url()},'', 1 ? $(cred) : 'locked')`, 'locked'],
    ['the name of a secret elsewhere', `fn.fnRestBasic('get',${url()},'password(api)',$(cred))`, 'api'],
    ['a name in a list', `fn.fnRestBasic('get',${url()},'','nobody,$(cred)')`, 'locked'],
    ['a part of a name', `fn.fnRestBasic('get',${url()},'','lo$(cred)')`, 'cked'],
    ['the name of fn.fnCredentials', `fn.fnCredentials('mine').then(c => fn.fnCredentials($(cred)))`, 'locked'],
    ['fn.fnRestJwtSecure', `fn.fnRestJwtSecure('get',${url()},'',$(cred)) // locked`, 'locked'],
    ['fn.fnParseHtmlWithRegex', `fn.fnParseHtmlWithRegex(${url()},'locked','g',$(cred))`, 'locked'],
    ['a function of the installation', `fnc.fnAs($(cred)) || 'locked'`, 'locked'],
  ])('%s', async (_, expression, cred) => {
    const functions = `export const fnAs = (c) => fn.fnRestBasic('get', ${url()}, '', c)\nconst other = 'locked'`
    const got = await ask(expression, { cred }, [], functions)
    const name = cred === 'cked' ? 'locked' : cred
    expect(got.ans).toMatchObject({ waiting: refused(name) })
    expect(got.asked).toEqual([])
    // The one that the role allows is used.
    if (cred !== 'cked')
      expect((await ask(expression, { cred: 'mine' }, [], functions)).text).not.toContain('do not allow')
  })

  test('an object that reads like an answer of fn.fnCredentials', async () => {
    const field = { name: 'cred', type: 'yaml' }
    const values = { cred: '{ name: locked, password: password(locked) }' }
    const got = await ask(`fn.fnRestJwtSecure('get',${url()},'',$(cred))`, values, [field])
    expect(got.ans).toMatchObject({ waiting: refused('locked') })
  })

  test('a name that another system answers', async () => {
    const names = `fn.fnRestBasic('get',${url('/names')})`
    const got = await ask(`${names}.then(all => fn.fnRestBasic('get',${url()},'',all[0]))`)
    expect(got.ans).toMatchObject({ waiting: refused('locked') })
  })

  test('the name of a database', async () => {
    const field = { name: 'rows', type: 'enum', dbConfig: '$(cred)', query: "select 'locked' as x" }
    const got = await ask("'locked'", { cred: 'locked' }, [{ name: 'cred', type: 'text' }, field])
    expect(got.text).toContain("your roles do not allow the credential 'locked'")
  })
})

describe('what the author writes opens what it names', () => {
  test.each([
    ['in the call', `fn.fnRestBasic('get',${url()},'','locked')`],
    ['in a template', `fn.fnRestBasic('get',${url()},'',\`locked\`)`],
    ['in one of two choices', `fn.fnRestBasic('get',${url()},'', '$(env)' === 'x' ? 'locked' : 'api')`],
    ['when a value is missing', `fn.fnRestBasic('get',${url()},'', '' || 'locked')`],
    ['in a constant of the script', `const one = 'locked'\nfn.fnRestBasic('get',${url()},'',one)`],
    ['as a result of fn.fnCredentials', `fn.fnCredentials('locked').then(c => fn.fnRestBasic('get',${url()},'',c))`],
    ['behind await', `fn.fnRestBasic('get',${url()},'', await fn.fnCredentials('locked'))`],
    ['as an argument of its own function', `fnc.fnAs('locked')`],
    ['inside of its own function', `fnc.fnLocked()`],
  ])('%s', async (_, expression) => {
    const functions = `export const fnAs = (c) => fn.fnRestBasic('get', ${url()}, '', c)
      const NAME = 'locked'
      export function fnLocked() { return fnAs(NAME) }`
    const got = await ask(expression, { env: 'x' }, [], functions)
    expect(got.ans.waiting).toBeUndefined()
    expect(sentBy(got)).toEqual([[basic('locked')]])
  })

  test('a constant of the configuration counts as written', async () => {
    await server.writeConfig(
      'constants: { CRED: locked }\nroles:\n  - { name: admin, groups: [local/admins] }\n  - { name: public, groups: [local/users], credentials: [mine] }\n',
    )
    for (const name of ['$(CRED)', "'$(CRED)'", '`$(CRED)`']) {
      expect(sentBy(await ask(`fn.fnRestBasic('get',${url()},'',${name})`))).toEqual([[basic('locked')]])
    }
    // A field of that name comes before it.
    const got = await ask(`fn.fnRestBasic('get',${url()},'',$(CRED))`, { CRED: 'locked' })
    expect(got.ans.waiting).toContain('do not allow')
  })

  test('the marks of a text are not seen by scripts that give it back', async () => {
    const expression = `fn.fnCredentials('tok').then(c => [c.password, 'password(tok)', {'password(a)': 1}, $(note).length])`
    const got = await ask(expression, { note: 'abc' })
    expect(got.ans.value).toEqual(['password(tok)', 'password(tok)', { 'password(a)': 1 }, 3])
  })
})

describe('a value that somebody types does not choose the server that gets a secret', () => {
  const WHY = 'decides which server gets the credential'

  test.each([
    ['the whole URL', '$(site)', 'URL/tok/echo'],
    ['the host', "'http://$(site)/tok/echo'", '127.0.0.1:PORT'],
    ['the port', "'http://127.0.0.1:$(site)/tok/echo'", 'PORT'],
    ['the end of the host', "'URL$(site)'", '/tok/echo'],
    ['a user before the host', "'http://example.com$(site)'", ':x@127.0.0.1:PORT/tok/echo'],
    ['the scheme', "'$(site)://127.0.0.1:PORT/tok/echo'", 'http'],
    ['a template', '`http://${$(site)}/tok/echo`', '127.0.0.1:PORT'],
    ['a sum', "'http://' + $(site) + '/tok/echo'", '127.0.0.1:PORT'],
  ])('%s', async (_, place, given) => {
    for (const call of [
      `fn.fnRestBasic('get',${place},'','locked')`,
      `fn.fnRestAdvanced('get',${place},'',{'X-Note':'password(locked)'})`,
    ]) {
      const got = await ask(call, { site: given })
      expect(got.asked).toEqual([])
      expect(got.ans.waiting).toContain(WHY)
    }
    // Without a credential the rules for addresses decide.
    expect((await ask(`fn.fnRestBasic('get',${place})`, { site: given })).text).not.toContain(WHY)
  })

  test('a path, a choice of the form, a constant and what the service computes do', async () => {
    const host = '127.0.0.1:PORT'
    const choice = { name: 'site', type: 'enum', values: [host, 'other'] }
    const computed = { name: 'computed', type: 'expression', runLocal: true, expression: "'http://' + '$(site)'" }
    for (const [place, values] of [
      ["'URL/$(path)'", { path: 'tok/echo' }],
      ["'http://$(site)/tok/echo'", { site: host }],
      ["'$(computed)/tok/echo'", { site: host }],
      [`'http://' + ['${host}'].join('') + '/tok/echo'`, {}],
    ] as const) {
      const got = await ask(`fn.fnRestBasic('get',${place},'','locked')`, values, [choice, computed])
      expect([place, sentBy(got)]).toEqual([place, [[basic('locked')]]])
    }
    const typed = { name: 'computed', type: 'expression', runLocal: true, expression: "'http://' + '$(text)'" }
    const got = await ask("fn.fnRestBasic('get','$(computed)/tok/echo','','locked')", { text: host }, [typed])
    expect(got.ans.waiting).toContain(WHY)
  })
})
