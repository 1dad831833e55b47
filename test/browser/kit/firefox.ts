import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { ADMIN_PASSWORD } from '../../support/product.js'
import { killProcessesOfFolder } from '../../support/processes-of-folder.js'
import { startProgram } from '../../support/process.js'
import { waitFor } from '../../support/wait.js'

const USUAL = '/usr/bin/firefox-esr'

/** It asks nobody but the page's own server, and shows no page of its own. */
const PREFERENCES = {
  'app.normandy.enabled': false,
  'app.update.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.safebrowsing.downloads.enabled': false,
  'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false,
  'browser.startup.homepage_override.mstone': 'ignore',
  'datareporting.policy.dataSubmissionEnabled': false,
  'extensions.systemAddon.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,#nothing',
  'toolkit.telemetry.enabled': false,
}

/** Keys as WebDriver names them. */
const KEYS = { Home: '\uE011', End: '\uE010', PageDown: '\uE00F', Enter: '\uE007', Escape: '\uE00C' } as const

/** The one tab of a Firefox of its own. */
export interface FirefoxPage {
  goTo(address: string): Promise<void>
  /** What an expression gives on the page; a promise is waited for. */
  evaluate<Value>(expression: string): Promise<Value>
  press(key: keyof typeof KEYS | 'f' | 'e'): Promise<void>
  /** Turns the wheel in the middle of an element. */
  wheel(selector: string, pixels: number): Promise<void>
  /** Errors of scripts, and what the content policy of the page refused. */
  problems(): readonly string[]
  close(): Promise<void>
}

interface Said {
  readonly id?: number
  readonly type?: string
  readonly message?: string
  readonly result?: unknown
  readonly method?: string
  readonly params?: { readonly level?: string; readonly type?: string; readonly text?: string | null }
}

/** Signs the tab in as the first admin of a control plane. @throws Error when that is refused */
export async function signInAsAdmin(page: FirefoxPage, address: string): Promise<void> {
  await page.goTo(`${address}/jobs`)
  const body = JSON.stringify(JSON.stringify({ username: 'admin', password: ADMIN_PASSWORD }))
  const headers = JSON.stringify({ 'content-type': 'application/json', 'x-holdfast-page': '1' })
  const status = await page.evaluate<number>(
    `fetch('/api/v2/auth/session', { method: 'POST', headers: ${headers}, body: ${body} }).then(({ status }) => status)`,
  )
  if (status !== 200) throw new Error(`the sign-in of Firefox was answered with ${status}`)
}

/** Starts the machine's own Firefox, driven by WebDriver BiDi. @throws Error that says what to do when there is none */
export async function startFirefox(): Promise<FirefoxPage> {
  const path = process.env.FIREFOX ?? USUAL
  if (!existsSync(path)) {
    throw new Error(`There is no ${path}: install firefox-esr (as root ./scripts/test does), or name one in FIREFOX`)
  }
  const profile = mkdtempSync(join(tmpdir(), 'holdfast-firefox-'))
  const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`)
  writeFileSync(join(profile, 'user.js'), lines.join(''))
  const args = ['--headless', '--no-remote', '--remote-debugging-port=0', '--profile', profile]
  const program = startProgram(path, args, { HOME: profile, MOZ_CRASHREPORTER_DISABLE: '1' })
  async function end(): Promise<void> {
    await program.stop('SIGTERM')
    await killProcessesOfFolder(profile)
    rmSync(profile, { recursive: true, force: true })
  }
  try {
    const url = await waitFor('Firefox to listen', () => {
      if (!program.isRunning()) throw new Error(`it ended: ${program.said()}`)
      return /WebDriver BiDi listening on (ws:\S+)/.exec(program.said())?.[1]
    })
    const session = await connect(`${url}/session`)
    return await openPage(session, end)
  } catch (error) {
    await end()
    throw error
  }
}

interface Session {
  send<Result>(method: string, params: object): Promise<Result>
  readonly problems: string[]
  close(): void
}

async function connect(url: string): Promise<Session> {
  const socket = new WebSocket(url)
  const waiting = new Map<number, (said: Said) => void>()
  const problems: string[] = []
  let last = 0
  socket.on('message', (data: Buffer) => {
    const said = JSON.parse(data.toString()) as Said
    if (said.id !== undefined) waiting.get(said.id)?.(said)
    const { level, type, text } = said.params ?? {}
    if (said.method !== 'log.entryAdded' || level !== 'error') return
    if (type === 'javascript' || /Content.Security.Policy|Trusted/i.test(text ?? '')) problems.push(text ?? '')
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return {
    problems,
    send: <Result>(method: string, params: object) =>
      new Promise<Result>((resolve, reject) => {
        const id = (last += 1)
        waiting.set(id, (said) => {
          waiting.delete(id)
          if (said.type === 'success') resolve(said.result as Result)
          else reject(new Error(`${method}: ${said.message}`))
        })
        socket.send(JSON.stringify({ id, method, params }))
      }),
    close: () => socket.close(),
  }
}

async function openPage({ send, problems, close }: Session, end: () => Promise<void>): Promise<FirefoxPage> {
  await send('session.new', { capabilities: {} })
  const { contexts } = await send<{ contexts: { context: string }[] }>('browsingContext.getTree', {})
  const context = contexts[0]?.context
  await send('session.subscribe', { events: ['log.entryAdded'] })
  await send('browsingContext.setViewport', { context, viewport: { width: 1180, height: 720 } })
  const act = (actions: object) => send('input.performActions', { context, actions: [actions] })

  async function evaluate<Value>(expression: string): Promise<Value> {
    const { result, exceptionDetails } = await send<{
      result?: { value?: string }
      exceptionDetails?: { text: string }
    }>('script.evaluate', {
      expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value ?? null))`,
      target: { context },
      awaitPromise: true,
    })
    if (exceptionDetails) throw new Error(exceptionDetails.text)
    return JSON.parse(result?.value ?? 'null') as Value
  }

  return {
    evaluate,
    async goTo(address) {
      await send('browsingContext.navigate', { context, url: address, wait: 'complete' })
    },
    async press(key) {
      const value = key in KEYS ? KEYS[key as keyof typeof KEYS] : key
      const actions = [
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ]
      await act({ type: 'key', id: 'keys', actions })
    },
    async wheel(selector, pixels) {
      const { x, y } = await evaluate<{ x: number; y: number }>(`(() => {
        const { left, top, width, height } = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect()
        return { x: Math.round(left + width / 2), y: Math.round(top + height / 2) }
      })()`)
      await act({ type: 'wheel', id: 'wheel', actions: [{ type: 'scroll', x, y, deltaX: 0, deltaY: pixels }] })
    },
    problems: () => problems,
    async close() {
      close()
      await end()
    },
  }
}
