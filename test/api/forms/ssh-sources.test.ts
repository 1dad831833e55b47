import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAnsweringServer } from '../../support/answering-server.js'
import { type Sshd, startSshd, whyNoSshd } from '../../support/sshd.js'
import { waitFor } from '../../support/wait.js'
import { type ServerOptions, type TestServer, startServer } from '../server.js'

const reason = whyNoSshd()
if (reason !== null) console.warn(`forms that run commands by ssh are not tried: ${reason}`)

const FORM = (expression: string, name = 'ask') =>
  JSON.stringify({
    name,
    type: 'ansible',
    playbook: 'x.yml',
    roles: ['public'],
    fields: [
      { name: 'path', type: 'text' },
      { name: 'f', type: 'expression', expression },
    ],
  })

/** Commands by ssh, against a real OpenSSH server. */
describe.skipIf(reason !== null)('fn.fnSsh', () => {
  let sshd: Sshd
  let server: TestServer
  let host: string

  const settings = (): ServerOptions['settings'] => ({
    FORM_SSH_HOSTS: '127.0.0.0/8',
    FORM_SSH_CREDENTIAL: 'operations',
    FORM_SSH_KNOWN_HOSTS: sshd.knownHosts,
  })
  /** Adds the key that logs in. */
  async function withKey(on: TestServer, more: object = {}): Promise<void> {
    const password = readFileSync(sshd.key, 'utf8')
    const json = { name: 'operations', type: 'ssh', password, ...more }
    const { status, text } = await on.call('POST', '/credential', { token: on.admin, json })
    expect(status, text).toBe(200)
  }
  /** What the field says. */
  async function said(expression: string, values: object = {}, on = server): Promise<Record<string, unknown>> {
    await on.writeForm('ask.yaml', FORM(expression))
    const json = { wait: 60, rawFormData: values }
    const { body } = await on.call('POST', '/forms/ask/evaluate', { token: on.admin, json })
    return (body.fields as { f: Record<string, unknown> }).f
  }
  const why = (words: string) => ({ waiting: expect.stringContaining(words) as string })

  beforeAll(async () => {
    sshd = await startSshd()
    host = `127.0.0.1:${sshd.port}`
    server = await startServer({ settings: settings() })
    await withKey(server)
  })
  afterAll(async () => {
    await server?.close()
    await sshd?.close()
  })

  test('gives the output of a command, and jq filters it', async () => {
    expect(await said(`fn.fnSsh('root','${host}','echo one; echo two')`)).toMatchObject({
      value: ['one', 'two'],
    })
    const json = `fn.fnSsh('root','${host}','echo \\'[{"name":"a"},{"name":"b"}]\\'','[.[].name]')`
    expect(await said(json)).toMatchObject({ value: ['a', 'b'] })
    // What is no JSON is filtered as a list of lines.
    const lines = `fn.fnSsh('root','${host}','echo no; echo; echo yes','map(length)')`
    expect(await said(lines)).toMatchObject({ value: [2, 0, 3] })
    expect(await said(`fn.fnSsh('root','${host}','ls -la /')`)).toMatchObject({
      value: expect.arrayContaining([expect.stringMatching(/^total /), expect.stringMatching(/^d.* \.\.$/)]) as unknown,
    })
    expect(await said(`fn.fnSsh('root','${host}','true')`)).toMatchObject({ value: [] })
    // There is nothing to read, and a command that reads does not wait for it.
    expect(await said(`fn.fnSsh('root','${host}','cat; echo read')`)).toMatchObject({ value: ['read'] })
  })

  test('is asked again at the launch, and the playbook gets the value', async () => {
    await server.writeForm('launched.yaml', FORM(`fn.fnSsh('root','${host}','echo here')`, 'launched'))
    const { body } = await server.call('POST', '/job', {
      token: server.admin,
      json: { formName: 'launched', rawFormData: { path: 'x', f: 'what a client says' } },
    })
    const job = await server.call('GET', `/job/${String(body.id)}`, { token: server.admin })
    expect(job.body.extravars).toMatchObject({ f: ['here'] })
  })

  test('puts values into a command as plain words only', async () => {
    const expression = `fn.fnSsh('root','${host}','printf "<%s>" $(path) end')`
    expect(await said(expression, { path: '/srv/a-1.txt' })).toMatchObject({ value: ['</srv/a-1.txt><end>'] })
    for (const path of ['a b', ';id', '$(id)', '`id`', '-rf', "'", '"', '\\', '*', '~', '|x', '&', '>x', '#']) {
      expect([path, await said(expression, { path })]).toEqual([path, expect.objectContaining(why('one plain word'))])
    }
    // A value is never what is run.
    for (const command of [
      '$(path)',
      ' $(path) -a',
      'echo a; $(path)',
      'true && $(path)',
      'echo `$(path)`',
      '(x$(path))',
      'sudo $(path)',
      'sudo -u root $(path)',
      'env A=1 $(path)',
      'timeout 5 $(path)',
      'find / -exec $(path) {} +',
    ]) {
      const got = await said(`fn.fnSsh('root','${host}','${command}')`, { path: 'id' })
      expect([command, got]).toEqual([command, expect.objectContaining(why('must not choose a program'))])
    }
    expect(await said(`fn.fnSsh('root','${host}','env timeout 5 echo $(path)')`, { path: 'x' })).toMatchObject({
      value: ['x'],
    })
    // The author may put it together, but nobody else.
    const joined = `fn.fnSsh('root','${host}','echo ' + '$(path)')`
    expect(await said(joined, { path: 'x' })).toMatchObject({ value: ['x'] })
    expect(await said(joined, { path: 'x; id' })).toMatchObject(why('only the form may write the command'))
    expect(await said(`fn.fnSsh('root','${host}',$(path)) // 'id'`, { path: 'id' })).toMatchObject(
      why('only the form may write the command'),
    )
    const user = `fn.fnSsh('$(path)','${host}','id')`
    expect(await said(user, { path: '-oProxyCommand=id' })).toMatchObject(why('the user must be one plain word'))
    expect(await said(`fn.fnSsh('root','$(path)','id')`, { path: '-oProxyCommand=id' })).toMatchObject(
      why('the host must be a name or an address'),
    )
  })

  test('says why there is no answer, and shows no secret', async () => {
    expect(await said(`fn.fnSsh('root','${host}','echo gone >&2; exit 3')`)).toMatchObject(why('ended with 3: gone'))
    expect(await said(`fn.fnSsh('nobody-here','${host}','id')`)).toMatchObject(why('ssh did not get to 127.0.0.1'))
    expect(await said(`fn.fnSsh('root','${host}','head -c 2000000 /dev/zero')`)).toMatchObject(why('more than 1 MiB'))
    expect(await said(`fn.fnSsh('root','example.com','id')`)).toMatchObject(why('not in FORM_SSH_HOSTS'))
    expect(await said(`fn.fnSsh('root','127.0.0.1:1','id')`)).toMatchObject(why('ssh did not get to'))
  })

  test('ends its connection when the time of a source is over', async () => {
    const short = await startServer({ settings: { ...settings(), SOURCE_TIMEOUT_SECONDS: '1' } })
    try {
      await withKey(short)
      const before = sshd.said().length
      const expression = `fn.fnSsh('root','${host}','timeout 300 tail -f /dev/null')`
      expect(await said(expression, {}, short)).toMatchObject(why('did not answer within 1 s'))
      await waitFor('the connection to be closed', () =>
        /Disconnected from|Connection closed by/.test(sshd.said().slice(before)),
      )
    } finally {
      await short.close()
    }
  })

  test('is off without FORM_SSH_HOSTS, and needs FORM_SSH_CREDENTIAL and FORM_SSH_KNOWN_HOSTS', async () => {
    const expression = `fn.fnSsh('root','${host}','echo here')`
    const withSettings = async (changed: ServerOptions['settings'], more?: object): Promise<object> => {
      const other = await startServer({ settings: { ...settings(), ...changed } })
      try {
        await withKey(other, more)
        return await said(expression, {}, other)
      } finally {
        await other.close()
      }
    }
    expect(await withSettings({})).toMatchObject({ value: ['here'] })
    expect(await withSettings({ FORM_SSH_HOSTS: '' })).toMatchObject(why('(FORM_SSH_HOSTS)'))
    expect(await withSettings({ FORM_SSH_HOSTS: '*.example.com' })).toMatchObject(why('not in FORM_SSH_HOSTS'))
    expect(await withSettings({ FORM_SSH_CREDENTIAL: '' })).toMatchObject(why('(FORM_SSH_CREDENTIAL)'))
    expect(await withSettings({ FORM_SSH_CREDENTIAL: 'other' })).toMatchObject(why('(FORM_SSH_CREDENTIAL)'))
    expect(await withSettings({}, { host: 'web1' })).toMatchObject(why('is for the host web1 only'))
    const empty = join(server.folder, 'no-hosts')
    writeFileSync(empty, '')
    expect(await withSettings({ FORM_SSH_KNOWN_HOSTS: empty })).toMatchObject(
      why('its key is not known (FORM_SSH_KNOWN_HOSTS)'),
    )
  })
})

test('fn.fnParseHtmlWithRegex gives the pieces of a page that a pattern finds', async () => {
  const page = '<h2 class="a">One</h2>\n<p>no</p><h2>Two</h2>'
  const source = await startAnsweringServer({ '/page': (_request, response) => response.end(page) })
  const server = await startServer({ settings: { REST_ALLOWED_HOSTS: '127.0.0.1' } })
  try {
    const evaluate = async (expression: string) => {
      await server.writeForm('ask.yaml', FORM(expression))
      const { body } = await server.call('POST', '/forms/ask/evaluate', { token: server.admin, json: { wait: 60 } })
      return (body.fields as { f: object }).f
    }
    expect(await evaluate(`fn.fnParseHtmlWithRegex('${source.url}/page','<h2.*?>(.*?)</h2>','g')`)).toMatchObject({
      value: [
        { fullMatch: '<h2 class="a">One</h2>', groups: ['One'], namedGroups: {} },
        { fullMatch: '<h2>Two</h2>', groups: ['Two'], namedGroups: {} },
      ],
    })
    expect(await evaluate(`fn.fnParseHtmlWithRegex('${source.url}/page','<P>(?<word>.*?)</P>','i')`)).toMatchObject({
      value: [{ fullMatch: '<p>no</p>', groups: ['no'], namedGroups: { word: 'no' } }],
    })
  } finally {
    await server.close()
    await source.close()
  }
})
