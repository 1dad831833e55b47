import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pino } from 'pino'
import { type ControlPlaneOverrides, type ControlPlaneParts, startControlPlane } from '../../control-plane/src/main.js'
import { type ControlPlaneSettings, readSettings } from '../../control-plane/src/settings.js'
import type { CONTROL_PLANE_SETTINGS } from '../../control-plane/src/settings-table.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { allowOwnRoutes } from '../support/contract.js'
import { haveWorked } from '../support/ages.js'
import { createTestDatabase } from '../support/test-database.js'

export const ADMIN_PASSWORD = 'correct horse battery'
export const ENCRYPTION_SECRET = 'another secret that is only used in tests'
/** Cheap enough that a test may sign in a hundred times. */
const FAST_HASHES = { memoryCost: 1024, timeCost: 1, parallelism: 1 }

export interface ServerOptions extends Pick<ControlPlaneOverrides, 'timers' | 'freeBytes' | 'moreRoutes'> {
  /** Settings by their names, over the defaults that a user has. Only AUTH_RATE_LIMIT is off when it is left out. */
  readonly settings?: Partial<Readonly<Record<keyof typeof CONTROL_PLANE_SETTINGS, string>>>
  /** Limits in bytes where the unit of the setting is too coarse for a test. */
  readonly sizes?: Partial<Pick<ControlPlaneSettings, 'bodyLimitBytes' | 'uploadMaxBytes' | 'uploadQuotas'>>
  /** Text of config.yaml; the one of a first start when left out. */
  readonly config?: string
  /** Form files by their path below the forms folder. */
  readonly forms?: Readonly<Record<string, string>>
  /** Workflow files by their path below the folder of workflows. */
  readonly workflows?: Readonly<Record<string, string>>
  /** Called with the folder before anything starts. */
  readonly prepare?: (folder: string) => void
  /** What the run says when left out. */
  readonly database?: 'sqlite' | 'postgres'
  /** What counts how long something lasted stands still, too, until the clock is moved. */
  readonly holdSteady?: boolean
  /** What counts how long something lasted. */
  readonly steady?: ControlPlaneOverrides['steady']
  /** How far the clock of the database's own host is ahead of ours; left out: there is none, also on PostgreSQL. */
  readonly databaseAhead?: () => number
  /** Lines of the log end up here. */
  readonly log?: string[]
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** The JSON of the body; text when it is none. */
  readonly body: Record<string, unknown>
  readonly text: string
}

export interface CallOptions {
  readonly token?: string
  readonly json?: unknown
  readonly body?: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** The product's control plane, listening, on a database of its own. */
export interface TestServer {
  /** Address with the base URL's prefix, without `/api/v2`. */
  readonly url: string
  readonly port: number
  readonly folder: string
  readonly parts: ControlPlaneParts
  /** The database. */
  readonly store: Store
  /** The clock of the server; it stands still until it is moved. */
  readonly clock: { now(): number; move(ms: number): void }
  /** Lets time pass for the clock and for the service, which worked all the time. In milliseconds. */
  pass(ms: number): Promise<void>
  /** Token of the first admin. */
  readonly admin: string
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  signIn(username: string, password?: string): Promise<{ token: string; refreshtoken: string }>
  /** Adds a user with {@link ADMIN_PASSWORD} and signs them in. */
  addUser(username: string, groups?: readonly string[]): Promise<{ id: number; token: string; refreshtoken: string }>
  writeForm(name: string, text: string): Promise<void>
  writeWorkflow(name: string, text: string): Promise<void>
  writeConfig(text: string): Promise<void>
  /** Writes credentials.yaml; null removes it. */
  writeCredentials(text: string | null): Promise<void>
  close(): Promise<void>
}

/** A path that is given begins in the folder of the server. */
function inFolder(name: string, text: string, folder: string): string {
  return /_PATH$|_FILE$/.test(name) ? join(folder, text) : text
}

/** Starts the control plane as `holdfast serve` does, from settings, with a clock that stands still. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-api-'))
  const put = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  for (const [name, text] of Object.entries(options.forms ?? {})) await put(join('forms', name), text)
  for (const [name, text] of Object.entries(options.workflows ?? {})) await put(join('workflows', name), text)
  options.prepare?.(folder)
  if (options.config !== undefined) await put('config.yaml', options.config)

  let time = Date.now()
  const clock = {
    now: () => time,
    move(ms: number) {
      time += ms
    },
  }
  const lines = options.log
  const log = lines ? pino({}, { write: (line: string) => void lines.push(line) }) : pino({ level: 'silent' })
  const database = await createTestDatabase(folder, options.database)
  const environment = {
    PERSISTENT_PATH: folder,
    PORT: '0',
    DATABASE_URL: database.url,
    ADMIN_PASSWORD,
    ACCESS_TOKEN_SECRET: 'a secret that is only used in tests',
    ENCRYPTION_SECRET,
    AUTH_RATE_LIMIT: '0',
    ...Object.fromEntries(
      Object.entries(options.settings ?? {}).map(([name, text]) => [name, inFolder(name, text, folder)]),
    ),
  }
  const settings = { ...readSettings({ environment, flags: {}, readFile: () => '' }, false), ...options.sizes }
  const { timers, freeBytes, moreRoutes } = options
  const { databaseAhead } = options
  const databaseTime = () => Promise.resolve(databaseAhead ? time + databaseAhead() : null)
  const {
    address: url,
    parts,
    close,
  } = await startControlPlane(settings, {
    clock,
    log,
    hashCost: FAST_HASHES,
    timers,
    freeBytes,
    moreRoutes,
    store: (opened) => ({ ...opened, databaseTime }),
    steady: options.holdSteady ? clock : options.steady,
  })
  if (moreRoutes) allowOwnRoutes(url)

  async function call(method: string, path: string, given: CallOptions = {}): Promise<Answer> {
    const body = given.json === undefined ? given.body : JSON.stringify(given.json)
    const response = await fetch(`${url}/api/v2${path}`, {
      method,
      // Where a browser would be sent on to is for the test to see.
      redirect: 'manual',
      headers: {
        ...(given.token === undefined ? {} : { authorization: `Bearer ${given.token}` }),
        ...(given.json === undefined ? {} : { 'content-type': 'application/json' }),
        ...given.headers,
      },
      ...(body === undefined ? {} : { body: new Blob([body]) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') ?? false
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text !== '' ? (JSON.parse(text) as Record<string, unknown>) : {},
    }
  }

  async function signIn(username: string, password = ADMIN_PASSWORD) {
    const answer = await call('POST', '/auth/login', { json: { username, password } })
    if (answer.status !== 200) throw new Error(`sign-in of ${username}: ${answer.status} ${answer.text}`)
    return answer.body as { token: string; refreshtoken: string }
  }

  const { token: admin } = await signIn(settings.admin.username)
  return {
    url,
    port: Number(new URL(url).port),
    folder,
    parts,
    store: parts.store,
    clock,
    async pass(ms) {
      time += ms
      // What the clock has shown until now belongs to the work until now.
      await parts.ages.of(0)
      await haveWorked(parts.store, ms)
    },
    admin,
    call,
    signIn,
    async addUser(username, groups = []) {
      const json = { username, password: ADMIN_PASSWORD, groups }
      const answer = await call('POST', '/user', { token: admin, json })
      if (answer.status !== 200) throw new Error(`adding ${username}: ${answer.status} ${answer.text}`)
      return { id: Number(answer.body.id), ...(await signIn(username)) }
    },
    async writeForm(name, text) {
      await put(join('forms', name), text)
      time += 2000
    },
    async writeWorkflow(name, text) {
      await put(join('workflows', name), text)
      time += 2000
    },
    async writeConfig(text) {
      await put('config.yaml', text)
    },
    async writeCredentials(text) {
      if (text === null) await rm(join(folder, 'credentials.yaml'))
      else await put('credentials.yaml', text)
      time += 2000
    },
    async close() {
      await close()
      await database.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
