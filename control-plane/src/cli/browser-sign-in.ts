import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import type { Client, Tokens } from '@holdfast/client'
import { signInWord } from '../sign-in-word.js'
import { InterruptedError, NotSignedInError, UsageError } from './errors.js'
import { printable } from './show/printable.js'
import { type Terminal, writeLine } from './terminal.js'

/** How long somebody may take in the browser, in milliseconds: as long as the service gives them. */
const TIMEOUT_MS = 10 * 60_000

const NAMES = { oidc: 'OpenID Connect', azuread: 'Entra ID' } as const
/** The ways to sign in with a browser. */
export type BrowserSignInKind = keyof typeof NAMES

/**
 * Signs in with a browser: it is sent to the service, from there to the provider, and at last back here, where this
 * program listens for it on the machine's own address, with a code that is worth something only here.
 * @throws CliError
 */
export async function signInWithBrowser(
  client: Client,
  server: string,
  kind: BrowserSignInKind,
  terminal: Terminal,
): Promise<Tokens> {
  const kinds = await client.getSignInKinds()
  if (!(kind === 'oidc' ? kinds.oidcEnabled : kinds.azureAdEnabled)) {
    throw new UsageError(`${server} has no sign-in by ${NAMES[kind]}.`)
  }
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  // Nobody else knows the path, so nobody else can end this sign-in.
  const path = `/${randomBytes(16).toString('hex')}`
  const listening = await listenForCode(path)
  try {
    const redirect = `http://127.0.0.1:${listening.port}${path}`
    const query = new URLSearchParams({ redirect, challenge, machine: hostname() }).toString()
    // The browser comes back to the public address, and with what it remembers only if it began there.
    const address = `${kinds.publicUrl ?? server}/api/v2/auth/${kind}?${query}`
    const code = await untilStopped(async () => {
      await writeLine(terminal.stderr, `Sign in with a browser of this machine:\n${printable(address)}`)
      await writeLine(
        terminal.stderr,
        `The browser asks before it signs you in here. It must show this word: ${signInWord(challenge)}`,
      )
      openBrowser(address, terminal.environment)
      return listening.code
    })
    return await client.exchangeSignInCode({ body: { code, verifier } })
  } finally {
    listening.close()
  }
}

/** Waits for the browser on a free port of this machine. */
async function listenForCode(path: string) {
  const { promise: code, resolve, reject } = deferred<string>()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const given = url.searchParams.get('code')
    const refusal = url.searchParams.get('error_description')
    if (request.method !== 'GET' || url.pathname !== path || (given === null && refusal === null)) {
      return answer(response, 404, 'There is nothing here.')
    }
    if (given === null) {
      answer(response, 200, 'You are not signed in; the terminal says why. You can close this page.')
      return reject(new NotSignedInError(printable(refusal ?? '').slice(0, 500)))
    }
    answer(response, 200, 'You are signed in. You can close this page and go back to the terminal.')
    resolve(given)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // It is waited for later, and may come to nothing before.
  code.catch(() => undefined)
  const { port } = server.address() as AddressInfo
  return {
    port,
    code,
    close() {
      server.close()
      server.closeIdleConnections()
    },
  }
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    connection: 'close',
  })
  response.end(`${text}\n`)
}

/** Ends the waiting when somebody presses Ctrl-C, or nobody ever comes back. */
async function untilStopped<T>(wait: () => Promise<T>): Promise<T> {
  const { promise: stopped, reject } = deferred<never>()
  const interrupt = () => reject(new InterruptedError('Stopped; nobody was signed in.'))
  const timer = setTimeout(() => reject(new NotSignedInError('Nobody signed in with the browser.')), TIMEOUT_MS)
  process.once('SIGINT', interrupt)
  try {
    return await Promise.race([wait(), stopped])
  } finally {
    clearTimeout(timer)
    process.removeListener('SIGINT', interrupt)
  }
}

function deferred<T>() {
  let settle: { resolve(value: T): void; reject(error: Error): void } | null = null
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { promise, resolve: (value: T) => settle?.resolve(value), reject: (error: Error) => settle?.reject(error) }
}

/** Opens the browser, where there is one: BROWSER, or that of the desktop. The address was printed in any case. */
function openBrowser(address: string, environment: NodeJS.ProcessEnv): void {
  const program = browserOf(environment)
  if (program === null) return
  const child = spawn(program, [address], { stdio: 'ignore', detached: true })
  // No browser is no failure: whoever sits here opens the address by hand.
  child.once('error', () => undefined)
  child.unref()
}

function browserOf(environment: NodeJS.ProcessEnv): string | null {
  if (environment.BROWSER !== undefined) return environment.BROWSER || null
  if (process.platform === 'darwin') return 'open'
  return environment.DISPLAY || environment.WAYLAND_DISPLAY ? 'xdg-open' : null
}
