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

/** How long a person may take to sign in with the browser, in milliseconds. The service has the same limit. */
const TIMEOUT_MS = 10 * 60_000

const NAMES = { oidc: 'OpenID Connect', azuread: 'Entra ID' } as const
/** The ways to sign in with a browser. */
export type BrowserSignInKind = keyof typeof NAMES

/**
 * Signs in with a browser. The browser goes to the service, from there to the provider, and at last back to this program,
 * which listens on 127.0.0.1. It brings a code. Only this program can exchange the code for tokens, because only it knows
 * the verifier.
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
    // The provider sends the browser to the public address. Its cookies are there only if it also began at that address.
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
  // The code may be refused before anybody waits for it. Without this line Node.js would end the program.
  code.catch(() => undefined)
  const { port } = server.address() as AddressInfo
  return {
    port,
    code,
    close() {
      // Connections that are idle are closed with it.
      server.close()
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

/** Waits. @throws InterruptedError at Ctrl-C; NotSignedInError when the browser does not come back in time */
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

/** Opens the browser if there is one: that of BROWSER, or that of the desktop. The address was printed before. */
function openBrowser(address: string, environment: NodeJS.ProcessEnv): void {
  const program = browserOf(environment)
  if (program === null) return
  const child = spawn(program, [address], { stdio: 'ignore', detached: true })
  // It is no error when no browser opens: the person can open the printed address.
  child.once('error', () => undefined)
  child.unref()
}

/** The program that opens a browser here. Null: there is none. */
function browserOf(environment: NodeJS.ProcessEnv): string | null {
  if (environment.BROWSER !== undefined) return environment.BROWSER || null
  if (process.platform === 'darwin') return 'open'
  return environment.DISPLAY || environment.WAYLAND_DISPLAY ? 'xdg-open' : null
}
