import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { type Browser, createBrowser } from '../support/browser.js'
import { CLIENT, type OpenIdProvider, startOpenIdProvider } from '../support/openid-provider.js'
import { waitFor } from '../support/wait.js'
import { newPerson } from './run-cli.js'

const PUBLIC_URL = 'https://jobs.example.com'

let provider: OpenIdProvider
let server: TestServer

beforeAll(async () => {
  provider = await startOpenIdProvider({ redirectUri: `${PUBLIC_URL}/api/v2/auth/oidc/callback` })
  provider.know('sub-1', { preferred_username: 'jdoe' })
  server = await startServer({
    settings: { PUBLIC_URL },
    config: `roles: [{ name: admin, groups: [local/admins] }]
oidc: { issuer: "${provider.issuer}", clientId: ${CLIENT.id}, clientCredential: provider }
`,
  })
  await server.writeCredentials(`- name: provider\n  password: ${CLIENT.secret}\n`)
})
afterAll(async () => {
  await server?.close()
  await provider?.close()
})

/** The command, and a browser of the same person. */
function start(environment: Readonly<Record<string, string>> = {}) {
  const person = newPerson({ BROWSER: '', ...environment })
  const cli = person.start(['login', '--oidc', '--server', server.url])
  const browser: Browser = createBrowser({ [PUBLIC_URL]: server.url })
  const printed = async () => {
    await cli.says('/api/v2/auth/oidc?')
    return waitFor('the whole address', () => /^https:\S+(?=\n)/m.exec(cli.stderr())?.[0])
  }
  return { person, cli, browser, printed, session: join(person.home, 'holdfast/session.json') }
}

describe('login --oidc', () => {
  it('waits for the browser that a person opens, and stores the session for this user only', async () => {
    const { person, cli, browser, printed, session } = start()
    provider.sits('sub-1')
    const question = await browser.open(await printed())
    const word = /show this word: ([A-Z0-9]{4}-[A-Z0-9]{4})\n/.exec(cli.stderr())?.[1]
    for (const said of [word, hostname(), 'jdoe (oidc)', PUBLIC_URL])
      expect(question.text).toContain(`<strong>${said}</strong>`)
    const page = await browser.press(question, 'yes')
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('You are signed in') })
    const { code, stdout, stderr } = await cli.ended
    expect([code, stdout]).toEqual([0, `Signed in at ${server.url} as jdoe.\n`])
    const saved = JSON.parse(readFileSync(session, 'utf8')) as { username: string; token: string; refreshtoken: string }
    expect(saved.username).toBe('jdoe')
    expect(statSync(session).mode & 0o777).toBe(0o600)
    for (const secret of [saved.token, saved.refreshtoken])
      expect(stdout + stderr + page.address.href).not.toContain(secret)
    expect((await person.run(['job', 'list'])).code).toBe(0)

    const out = await person.run(['logout'])
    expect([out.code, out.stdout]).toEqual([
      0,
      `Signed out of ${server.url}.\nSign out at the provider, too: ${provider.issuer}/session/end?client_id=${CLIENT.id}\n`,
    ])
  })

  it('opens the browser of the environment, and does not wait for its end', async () => {
    const seen = join(newPerson().home, 'seen')
    const program = `${seen}.sh`
    // It goes on until the folder is removed, which is when the test ends.
    const script = `printf %s "$1" > ${seen}.part && mv ${seen}.part ${seen}\nwhile [ -e ${seen} ]; do sleep 0.1; done`
    writeFileSync(program, `#!/bin/sh\n${script}\n`)
    chmodSync(program, 0o700)
    const { cli, browser, printed } = start({ BROWSER: program })
    const address = await printed()
    await waitFor('the browser to be opened', () => existsSync(seen))
    expect(readFileSync(seen, 'utf8')).toBe(address)
    provider.sits('sub-1')
    await browser.press(await browser.open(address), 'yes')
    expect((await cli.ended).code).toBe(0)
  })

  it('ends with exit code 4 when the person refuses in the browser, and nobody is signed in', async () => {
    const { cli, browser, printed, session } = start()
    provider.sits('sub-1')
    const page = await browser.press(await browser.open(await printed()), 'no')
    expect(page.text).toContain('You are not signed in')
    const { code, stderr } = await cli.ended
    expect([code, stderr]).toEqual([4, expect.stringContaining('You said no in the browser')])
    expect(existsSync(session)).toBe(false)
  })

  it('a refused sign-in ends with exit code 4 and the reason; other requests to the port change nothing', async () => {
    const { cli, browser, printed, session } = start()
    const address = await printed()
    const redirect = new URL(new URL(address).searchParams.get('redirect') ?? '')
    for (const path of ['/?code=mine', `${redirect.pathname}`, `${redirect.pathname}x?code=mine`]) {
      expect((await fetch(redirect.origin + path)).status).toBe(404)
    }
    provider.nobodySignedIn()
    const page = await browser.open(address)
    expect(page.text).toContain('You are not signed in')
    const { code, stderr } = await cli.ended
    expect([code, stderr]).toEqual([4, expect.stringContaining('The provider refused the sign-in')])
    expect(existsSync(session)).toBe(false)
  })

  it('is stopped by Ctrl-C with exit code 130', async () => {
    const { cli, printed } = start()
    await printed()
    cli.process.kill('SIGINT')
    expect((await cli.ended).code).toBe(130)
  })
})
