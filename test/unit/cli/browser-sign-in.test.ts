import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@holdfast/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type BrowserSignInKind, browserOf, signInWithBrowser } from '../../../control-plane/src/cli/browser-sign-in.js'
import { InterruptedError, NotSignedInError, UsageError } from '../../../control-plane/src/cli/errors.js'
import type { Terminal } from '../../../control-plane/src/cli/terminal.js'
import { signInWord } from '../../../control-plane/src/sign-in-word.js'
import { holdProcessTimers } from '../../support/held-process-timers.js'
import { waitFor } from '../../support/wait.js'

const SERVER = 'http://jobs.example'
const PAIR = { token: 't', refreshtoken: 'r' }

/** Begins a sign-in. Its address is there as soon as it is printed. */
function begin({ kinds = {}, kind = 'oidc' as BrowserSignInKind, browser = '', says = async () => {} } = {}) {
  const said: string[] = []
  const exchanged: unknown[] = []
  const client = {
    getSignInKinds: async () => ({ ldapEnabled: false, oidcEnabled: true, azureAdEnabled: true, ...kinds }),
    async exchangeSignInCode({ body }: { readonly body: unknown }) {
      exchanged.push(body)
      return PAIR
    },
  } as unknown as Client
  const output = {
    isTerminal: true,
    color: false,
    columns: 100,
    async write(data: string | Uint8Array) {
      said.push(String(data))
      if (said.length === 2) await says()
    },
  }
  const terminal = { environment: { BROWSER: browser }, stdout: output, stderr: output } as unknown as Terminal
  const ended = signInWithBrowser(client, SERVER, kind, terminal)
  // Who looks at the end later is not too late.
  ended.catch(() => undefined)
  const address = () => new URL(said[0]?.split('\n')[1] ?? '')
  const redirect = () => new URL(address().searchParams.get('redirect') ?? '')
  const printed = () => waitFor('the address', () => said.length === 2)
  return { ended, said, exchanged, address, redirect, printed }
}

/** Waits without a timer, because the timers are held. */
async function turnsUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}

/** Goes back to the program, as a browser does. */
const goBack = (to: URL, query: Readonly<Record<string, string>>, init: RequestInit = {}) =>
  fetch(`${to.origin}${to.pathname}?${new URLSearchParams(query).toString()}`, init)

describe('a sign-in with a browser', () => {
  test('prints an address and a word, and exchanges the code that the browser brings', async () => {
    const { ended, said, exchanged, address, redirect, printed } = begin()
    await printed()
    const challenge = address().searchParams.get('challenge') ?? ''
    expect(address().href).toMatch(new RegExp(`^${SERVER}/api/v2/auth/oidc\\?`))
    expect(address().searchParams.get('machine')).toBe(hostname())
    expect(said[0]).toBe(`Sign in with a browser of this machine:\n${address().href}\n`)
    expect(said[1]).toBe(
      `The browser asks before it signs you in here. It must show this word: ${signInWord(challenge)}\n`,
    )
    const page = await goBack(redirect(), { code: 'the-code' })
    expect([page.status, await page.text()]).toEqual([
      200,
      'You are signed in. You can close this page and go back to the terminal.\n',
    ])
    const headers = ['content-type', 'cache-control', 'referrer-policy', 'connection'].map((n) => page.headers.get(n))
    expect(headers).toEqual(['text/plain; charset=utf-8', 'no-store', 'no-referrer', 'close'])
    expect(await ended).toEqual(PAIR)
    const [{ code, verifier }] = exchanged as [{ code: string; verifier: string }]
    expect(code).toBe('the-code')
    expect(createHash('sha256').update(verifier).digest('base64url')).toBe(challenge)
  })

  test('ends when its browser is back: nothing listens any more, for requests or signals', async () => {
    const before = process.listenerCount('SIGINT')
    const { ended, redirect, printed } = begin()
    await printed()
    expect(process.listenerCount('SIGINT')).toBe(before + 1)
    await goBack(redirect(), { code: 'c' })
    await ended
    expect(process.listenerCount('SIGINT')).toBe(before)
    await expect(goBack(redirect(), { code: 'c' })).rejects.toThrow('fetch failed')
  })

  test.each([
    ['another path', '/other', { code: 'c' }, 'GET'],
    ['no code', '', {}, 'GET'],
    ['another method', '', { code: 'c' }, 'POST'],
    ['another method and a refusal', '', { error_description: 'No' }, 'POST'],
  ])('goes on after a request with %s', async (_what, path, query, method) => {
    const { ended, redirect, printed, exchanged } = begin()
    await printed()
    const page = await goBack(path === '' ? redirect() : new URL(path, redirect()), query, { method })
    expect([page.status, await page.text()]).toEqual([404, 'There is nothing here.\n'])
    expect(exchanged).toEqual([])
    expect((await goBack(redirect(), { code: 'mine' })).status).toBe(200)
    expect(await ended).toEqual(PAIR)
    expect(exchanged).toMatchObject([{ code: 'mine' }])
  })

  test('that is refused ends with the reason, which the page leaves to the terminal', async () => {
    const { ended, redirect, printed } = begin()
    await printed()
    const page = await goBack(redirect(), { error_description: `No\u0007${'x'.repeat(600)}` })
    expect([page.status, await page.text()]).toEqual([
      200,
      'You are not signed in; the terminal says why. You can close this page.\n',
    ])
    await expect(ended).rejects.toThrow(NotSignedInError)
    const message = await ended.catch((error: unknown) => (error as Error).message)
    expect(message).toMatch(/^No/)
    expect(message).not.toContain('\u0007')
    expect(message).toHaveLength(500)
  })

  test('may be refused before anybody waits for it', async () => {
    let refuse: () => Promise<unknown> = () => Promise.resolve()
    const begun = begin({
      // While the word is being printed, the browser is back, and the event loop has turned.
      async says() {
        await refuse()
        await new Promise((resolve) => setImmediate(resolve))
      },
    })
    refuse = () => goBack(begun.redirect(), { error_description: 'Too quick' })
    await expect(begun.ended).rejects.toThrow('Too quick')
  })

  test('begins at the public address of the service', async () => {
    const { ended, address, redirect, printed } = begin({
      kinds: { publicUrl: 'https://public.example/base' },
      kind: 'azuread',
    })
    await printed()
    expect(address().href).toMatch(/^https:\/\/public\.example\/base\/api\/v2\/auth\/azuread\?/)
    await goBack(redirect(), { code: 'c' })
    await ended
  })

  test.each([
    ['oidc', { oidcEnabled: false }, 'OpenID Connect'],
    ['azuread', { azureAdEnabled: false }, 'Entra ID'],
  ] as const)('by %s needs a service that has it', async (kind, kinds, name) => {
    const { ended } = begin({ kind, kinds })
    await expect(ended).rejects.toThrow(UsageError)
    await expect(ended).rejects.toThrow(`${SERVER} has no sign-in by ${name}.`)
  })

  test('is stopped by Ctrl-C, and no timer goes on', async () => {
    const timers = holdProcessTimers()
    onTestFinished(timers.release)
    const before = process.listeners('SIGINT')
    const { ended, said } = begin()
    await turnsUntil(() => said.length === 2)
    expect(timers.count()).toBe(1)
    for (const listener of process.listeners('SIGINT')) if (!before.includes(listener)) listener('SIGINT')
    await expect(ended).rejects.toThrow(InterruptedError)
    await expect(ended).rejects.toThrow('Stopped; nobody was signed in.')
    expect(process.listeners('SIGINT')).toEqual(before)
    expect(timers.count()).toBe(0)
  })

  test('waits ten minutes for the browser', async () => {
    const timers = holdProcessTimers()
    onTestFinished(timers.release)
    const { ended, said } = begin()
    let hasEnded = false
    ended.catch(() => (hasEnded = true))
    await turnsUntil(() => said.length === 2)
    timers.advance(10 * 60_000 - 1)
    expect(hasEnded).toBe(false)
    timers.advance(1)
    await expect(ended).rejects.toThrow('Nobody signed in with the browser.')
  })
})

describe('the browser', () => {
  test('is opened at the printed address, in a session of its own', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-browser-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const [program, seen] = [join(folder, 'browser'), join(folder, 'seen')]
    // Behind the name in brackets are the state, the parent, the group and the session.
    const session = `$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f4)`
    writeFileSync(
      program,
      `#!/bin/sh\nprintf '%s %s %s' "$1" $$ "${session}" > ${seen}.part && mv ${seen}.part ${seen}\n`,
    )
    chmodSync(program, 0o700)
    const { ended, address, redirect, printed } = begin({ browser: program })
    await printed()
    await waitFor('the browser', () => existsSync(seen))
    const [opened, pid, ofSession] = readFileSync(seen, 'utf8').split(' ')
    expect([opened, ofSession]).toEqual([address().href, pid])
    await goBack(redirect(), { code: 'c' })
    await ended
  })

  test('need not be there', async () => {
    const { ended, redirect, printed } = begin({ browser: '/nowhere/browser' })
    await printed()
    await goBack(redirect(), { code: 'c' })
    expect(await ended).toEqual(PAIR)
  })

  test.each([
    ['linux', { BROWSER: 'mine', DISPLAY: ':0' }, 'mine'],
    ['linux', { BROWSER: '', DISPLAY: ':0' }, null],
    ['linux', { DISPLAY: ':0' }, 'xdg-open'],
    ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, 'xdg-open'],
    ['linux', { DISPLAY: '' }, null],
    ['linux', {}, null],
    ['darwin', {}, 'open'],
    ['darwin', { BROWSER: 'mine' }, 'mine'],
  ])('on %s with %j is %s', (platform, environment, program) => {
    const own = Object.getOwnPropertyDescriptor(process, 'platform') ?? {}
    Object.defineProperty(process, 'platform', { ...own, value: platform })
    onTestFinished(() => void Object.defineProperty(process, 'platform', own))
    expect(browserOf(environment)).toBe(program)
  })
})
