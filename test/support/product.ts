import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type RunningProcess, startProgram } from './process.js'
import type { PostgresServer } from './postgres.js'
import { killProcessesOfFolder } from './processes-of-folder.js'
import { pathWithQuickAnsible } from './quick-ansible.js'
import { type RestClient, signIn } from './rest.js'
import { USUAL_DATABASE, createTestDatabase } from './test-database.js'
import { waitFor } from './wait.js'

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..')
/** The command of the control plane, and that of the runner agent. */
const CONTROL_PLANE = join(ROOT, 'control-plane/bin/holdfast.js')
export const AGENT = join(ROOT, 'runner-agent/bin/holdfast-runner.js')
export const ADMIN_PASSWORD = 'correct horse battery'

export interface ProductOptions {
  /** Settings of the control plane and of the agent, over the defaults of the tests. */
  readonly controlPlane?: Readonly<Record<string, string>>
  readonly agent?: Readonly<Record<string, string>>
  /** Forms (file name → YAML) and playbook files (path → content). */
  readonly forms?: Readonly<Record<string, string>>
  readonly playbooks?: Readonly<Record<string, string>>
  /** Where it keeps its data; what the run says when left out. */
  readonly database?: 'sqlite' | 'postgres' | PostgresServer
  readonly workflows?: Readonly<Record<string, string>>
  /** Text of config.yaml. */
  readonly config?: string
  /** False: no runner agent is started. */
  readonly withAgent?: boolean
  /** A folder whose content becomes the playbook folder. */
  readonly playbookFolder?: string
  /** Where the agent dials, when that is not the control plane itself (a proxy that cuts). */
  readonly dial?: (address: string) => Promise<string>
  /** Called with the folder before anything starts; what it gives is in the environments of the two programs. */
  readonly prepare?: (folder: string) => Promise<Environments>
}

/** What is added to the environment of each program. */
export type Environments = Readonly<Record<'controlPlane' | 'agent', Readonly<Record<string, string>>>>

/** An agent that takes over the state folder of the product's own. */
export interface AnotherAgent {
  readonly settings?: Readonly<Record<string, string>>
  readonly program?: string
}

/** A control plane that works beside the first one. */
export interface AnotherNode {
  readonly program: RunningProcess
  readonly address: string
}

/** The whole product in a folder of its own: a control plane and a runner agent as separate processes. */
export interface Product {
  readonly folder: string
  /** What DATABASE_URL says, when the database is on a server. */
  readonly databaseUrl: string | null
  readonly address: string
  readonly admin: RestClient
  controlPlane: RunningProcess
  agent: RunningProcess
  /** @param program of another place, such as another release */
  startControlPlane(program?: string): Promise<void>
  /** Starts one more control plane on the same database and folder; it ends with the product. */
  startAnotherNode(): Promise<AnotherNode>
  /** @param another what differs from the agent of this product: settings, or a program of another place */
  startAgent(another?: AnotherAgent): void
  waitForRunner(): Promise<void>
  /** @param values those of the fields of the form */
  launch(form: string, values?: Record<string, unknown>): Promise<number>
  waitForEnd(jobId: number): Promise<Record<string, unknown>>
  /** Ends both programs and everything they started; the folder is removed unless it shall be kept. */
  close(options?: { readonly keep?: boolean }): Promise<void>
}

/** What every node on one PostgreSQL database is given. */
const SHARED_SECRETS = {
  ACCESS_TOKEN_SECRET: 'signs what only tests use',
  ENCRYPTION_SECRET: 'encrypts what only tests use',
}

const CONFIG = `roles:
  - name: admin
    groups: [local/admins]
  - name: default
    groups: []
`

/** Starts everything, approves the runner through REST and waits until it is ready for jobs. */
export async function startProduct(options: ProductOptions = {}): Promise<Product> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
  const persistent = join(folder, 'persistent')
  for (const part of ['forms', 'playbooks', 'workflows']) mkdirSync(join(persistent, part), { recursive: true })
  writeFileSync(join(persistent, 'config.yaml'), options.config ?? CONFIG)
  if (options.playbookFolder) cpSync(options.playbookFolder, join(persistent, 'playbooks'), { recursive: true })
  for (const [name, text] of Object.entries(options.forms ?? {})) writeFileSync(join(persistent, 'forms', name), text)
  for (const [name, text] of Object.entries(options.workflows ?? {}))
    writeFileSync(join(persistent, 'workflows', name), text)
  for (const [name, text] of Object.entries(options.playbooks ?? {})) {
    mkdirSync(dirname(join(persistent, 'playbooks', name)), { recursive: true })
    writeFileSync(join(persistent, 'playbooks', name), text)
  }

  const prepared = await options.prepare?.(folder)
  const database = await databaseOf(options.database ?? USUAL_DATABASE)
  const path = pathWithQuickAnsible(folder)
  let port = '0'
  let dialled = ''
  const others: RunningProcess[] = []
  const serve = (port: string, program = CONTROL_PLANE): RunningProcess =>
    startProgram(
      program,
      ['serve'],
      {
        PERSISTENT_PATH: persistent,
        PORT: port,
        ADMIN_PASSWORD,
        LOG_FORMAT: 'json',
        ...(database ? { DATABASE_URL: database.url, ...SHARED_SECRETS } : {}),
        ...prepared?.controlPlane,
        ...options.controlPlane,
      },
      { logPath: join(folder, 'control-plane.log') },
    )
  const addressOf = async (running: RunningProcess): Promise<string> => {
    const address = await waitFor('the control plane to listen', () =>
      running.isRunning() ? /"address":"([^"]+)","version"/.exec(running.said())?.[1] : 'ended',
    )
    if (address === 'ended') throw new Error(`the control plane ended: ${running.said()}`)
    return address
  }
  const startControlPlane = async (program?: string) => {
    product.controlPlane = serve(port, program)
    const address = await addressOf(product.controlPlane)
    Object.assign(product, { address })
    port = new URL(address).port
  }
  const startAgent = ({ settings = {}, program = AGENT }: AnotherAgent = {}) => {
    product.agent = startProgram(
      program,
      ['run'],
      {
        APP_URL: dialled,
        PATH: path,
        RTE_NAME: 'test-runner',
        RTE_STATE_PATH: join(folder, 'rte-state'),
        // As systemd sets it: for ends that the disk does not take.
        RUNTIME_DIRECTORY: join(folder, 'run'),
        PORT: '0',
        LOG_FORMAT: 'json',
        ...prepared?.agent,
        ...options.agent,
        ...settings,
      },
      { logPath: join(folder, 'agent.log') },
    )
  }

  const product: Product = {
    folder,
    databaseUrl: database?.url ?? null,
    address: '',
    admin: null as unknown as RestClient,
    controlPlane: null as unknown as RunningProcess,
    agent: null as unknown as RunningProcess,
    startControlPlane,
    async startAnotherNode() {
      const program = serve('0')
      others.push(program)
      return { program, address: await addressOf(program) }
    },
    startAgent,
    async waitForRunner() {
      await waitFor('the runner to be online', async () => {
        const { records } = await product.admin.get<{ records: { name: string; state: string; online: boolean }[] }>(
          '/runner',
        )
        return records.some((runner) => runner.state === 'approved' && runner.online)
      })
    },
    async launch(form, values = {}) {
      // As the pages of the forms send it: only a control plane that checks no launches runs with the extra variables.
      const launch = { formName: form, rawFormData: values, extravars: values }
      const { id } = await product.admin.post<{ id: number }>('/job', launch)
      return id
    },
    waitForEnd: (jobId) =>
      waitFor<Record<string, unknown>>(`job ${jobId} to end`, async () => {
        // Its output may be long, so it is asked for once.
        const { status } = await product.admin.get(`/job/${jobId}?output=false`)
        return status === 'running' || status === 'approve' ? null : product.admin.get(`/job/${jobId}?text=true`)
      }).catch((error: unknown) => {
        // The folder is removed afterwards, and nobody could tell any more which of the programs was stuck.
        throw new Error(`${error instanceof Error ? error.message : String(error)}\n${lastWords(folder)}`)
      }),
    async close({ keep = false } = {}) {
      if (product.agent) await product.agent.stop('SIGKILL')
      if (product.controlPlane) await product.controlPlane.stop('SIGTERM')
      await Promise.all(others.map((node) => node.stop('SIGTERM')))
      // Playbooks go on without their agent; the tests leave nothing behind.
      await killProcessesOfFolder(folder)
      if (!keep) await database?.remove()
      if (!keep) rmSync(folder, { recursive: true, force: true })
    },
  }

  try {
    await startControlPlane()
    dialled = options.dial ? await options.dial(product.address) : product.address
    Object.assign(product, { admin: await signIn(product.address, 'admin', ADMIN_PASSWORD) })
    if (options.withAgent === false) return product
    startAgent()
    const waiting = await waitFor('the runner to ask to join', async () => {
      if (!product.agent.isRunning()) throw new Error(`the agent ended: ${product.agent.said()}`)
      const { records } = await product.admin.get<{ records: { id: number; state: string }[] }>('/runner')
      return records.find((runner) => runner.state === 'waiting')
    })
    await product.admin.post(`/runner/${waiting.id}/approve`)
    await product.waitForRunner()
    return product
  } catch (error) {
    // A start that fails leaves nothing running: nobody holds the product yet.
    await product.close()
    throw error
  }
}

/** How many lines of each log a failed wait shows. */
const LAST_LINES = 12

/** What both programs said last, and what is left in the folders of the jobs. */
function lastWords(folder: string): string {
  const logs = ['control-plane.log', 'agent.log'].map((name) => {
    const path = join(folder, name)
    const lines = existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : []
    return [`--- ${name}, its last lines`, ...lines.slice(-LAST_LINES)].join('\n')
  })
  const jobs = join(folder, 'rte-state/spool/jobs')
  const names = existsSync(jobs) ? readdirSync(jobs, { recursive: true, encoding: 'utf8' }) : []
  return [...logs, '--- the spool', ...names.sort()].join('\n')
}

/** Null: a file in the product's folder. A server of the test's own goes with it. */
async function databaseOf(given: 'sqlite' | 'postgres' | PostgresServer) {
  if (given === 'sqlite') return null
  if (given === 'postgres') return createTestDatabase('', 'postgres')
  return { url: given.urlOf('postgres'), remove: () => Promise.resolve() }
}
