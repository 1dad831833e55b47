import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { pino } from 'pino'
import { createAuditChain } from '../../control-plane/src/audit/chain.js'
import { createAuditTrail } from '../../control-plane/src/audit/trail.js'
import { createAccounts } from '../../control-plane/src/auth/accounts.js'
import { createApiTokens } from '../../control-plane/src/auth/api-tokens.js'
import { bearerCheck } from '../../control-plane/src/auth/bearer.js'
import { createExternalSignIn } from '../../control-plane/src/auth/external-sign-in.js'
import { createFirstAdmin } from '../../control-plane/src/auth/first-admin.js'
import { createGrants } from '../../control-plane/src/auth/grants.js'
import { createPasswords } from '../../control-plane/src/auth/passwords.js'
import { credentialsForJobs } from '../../control-plane/src/auth/provider-secrets.js'
import { openRoleSource } from '../../control-plane/src/auth/role-source.js'
import { createSessionRecords } from '../../control-plane/src/auth/session-records.js'
import { createSessions } from '../../control-plane/src/auth/sessions.js'
import { createSignIn } from '../../control-plane/src/auth/sign-in.js'
import { createTokens } from '../../control-plane/src/auth/tokens.js'
import { createCredentialFile } from '../../control-plane/src/credentials/credential-file.js'
import { type Credentials, createCredentials } from '../../control-plane/src/credentials/credentials.js'
import { createJobSealing } from '../../control-plane/src/credentials/job-secrets.js'
import { type JobVault, createJobVault } from '../../control-plane/src/credentials/job-vault.js'
import { createSecretBox } from '../../control-plane/src/credentials/secret-box.js'
import { createSecretRotation } from '../../control-plane/src/credentials/secret-rotation.js'
import { createDesignerLock } from '../../control-plane/src/forms/designer-lock.js'
import type { LaunchValidation, UnknownFields } from '../../control-plane/src/forms/form.js'
import { createForms } from '../../control-plane/src/forms/loader.js'
import { createLaunchChecks } from '../../control-plane/src/forms/sandbox/launch-checks.js'
import { buildApp } from '../../control-plane/src/http/app.js'
import { appearanceRoutes } from '../../control-plane/src/http/appearance.js'
import { auditRoutes } from '../../control-plane/src/http/audit.js'
import { authRoutes } from '../../control-plane/src/http/auth.js'
import { credentialRoutes } from '../../control-plane/src/http/credential.js'
import { eventRoutes } from '../../control-plane/src/http/events.js'
import { formRoutes } from '../../control-plane/src/http/forms.js'
import { jobApprovalRoutes } from '../../control-plane/src/http/job-approvals.js'
import { jobNodeRoutes } from '../../control-plane/src/http/job-node.js'
import { jobStreamRoutes } from '../../control-plane/src/http/job-streams.js'
import { jobRoutes } from '../../control-plane/src/http/job.js'
import { lockRoutes } from '../../control-plane/src/http/lock.js'
import { metricsRoutes } from '../../control-plane/src/http/metrics.js'
import { monitoringRoutes } from '../../control-plane/src/http/monitoring.js'
import { profileTokenRoutes } from '../../control-plane/src/http/profile-tokens.js'
import { profileRoutes } from '../../control-plane/src/http/profile.js'
import { secretRoutes } from '../../control-plane/src/http/secret.js'
import { serviceKeyRoutes } from '../../control-plane/src/http/service-key.js'
import { sessionRoutes } from '../../control-plane/src/http/session.js'
import { singleSignOnRoutes } from '../../control-plane/src/http/single-sign-on.js'
import { uploadRoutes } from '../../control-plane/src/http/upload.js'
import { userRoutes } from '../../control-plane/src/http/user.js'
import { type LiveEvents, createLiveEvents } from '../../control-plane/src/live/live-events.js'
import { createMetrics } from '../../control-plane/src/metrics/metrics.js'
import { createSteadyClock, systemClock } from '../../control-plane/src/clock.js'
import { createServiceClock } from '../../control-plane/src/nodes/service-clock.js'
import { createDispatcher } from '../../control-plane/src/runners/dispatcher.js'
import { createApprovalSubjects } from '../../control-plane/src/jobs/approval-subject.js'
import { approvedNeedsOf } from '../../control-plane/src/runners/job-order.js'
import { createPlaybookFolder } from '../../control-plane/src/runners/playbook-folder.js'
import { openServiceKeys } from '../../control-plane/src/runners/service-keys.js'
import { openSecretRing } from '../../control-plane/src/secret-ring.js'
import { SILENT_BUS } from '../../control-plane/src/nodes/bus.js'
import type { SequenceKind } from '../../control-plane/src/sequences/kind.js'
import { createMultistep } from '../../control-plane/src/sequences/multistep/multistep.js'
import { type Sequences, createSequences } from '../../control-plane/src/sequences/sequences.js'
import { createWorkflows } from '../../control-plane/src/sequences/workflows/loader.js'
import { createWorkflowKind } from '../../control-plane/src/sequences/workflows/workflow-kind.js'
import { CONTROL_PLANE_SETTINGS } from '../../control-plane/src/settings-table.js'
import { credentialSecrets } from '../../control-plane/src/store/sealed-columns.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { type Timers, systemTimers } from '../../control-plane/src/timers.js'
import { type UploadSweeper, createUploadSweeper } from '../../control-plane/src/uploads/sweeper.js'
import { openUploadFolder } from '../../control-plane/src/uploads/upload-folder.js'
import { createUploads } from '../../control-plane/src/uploads/uploads.js'
import { allowOwnRoutes } from '../support/contract.js'
import { openTestStore } from '../support/test-database.js'
import { AMPLE } from '../support/ample-limits.js'

/** Threads run what was built. */
const CHECK_WORKER = new URL('../../control-plane/dist/forms/sandbox/check-worker.js', import.meta.url)

export const ADMIN_PASSWORD = 'correct horse battery'
const ACCESS_TOKEN_SECRET = 'a secret that is only used in tests'
export const ENCRYPTION_SECRET = 'another secret that is only used in tests'
/** Cheap enough that a test may sign in a hundred times. */
const FAST_HASHES = { memoryCost: 1024, timeCost: 1, parallelism: 1 }

const MASK_PATTERN = new RegExp(CONTROL_PLANE_SETTINGS.MASK_EXTRAVARS_REGEX.default, 'i')

export interface ServerOptions {
  /** Text of config.yaml; the one of a first start when left out. */
  readonly config?: string
  /** Form files by their path below the forms folder. */
  readonly forms?: Readonly<Record<string, string>>
  /** Workflow files by their path below the folder of workflows. */
  readonly workflows?: Readonly<Record<string, string>>
  readonly baseUrl?: string
  readonly publicUrl?: string
  readonly bodyLimitBytes?: number
  /** LAUNCH_VALIDATION; off when left out. */
  readonly validation?: LaunchValidation
  /** LAUNCH_UNKNOWN_FIELDS; refuse when left out. */
  readonly unknownFields?: UnknownFields
  readonly uploadMaxBytes?: number
  /** No limit when left out. */
  readonly uploadQuotas?: { readonly ofUser: number; readonly ofAll: number }
  /** Free bytes of the disk of the uploads. */
  readonly freeBytes?: () => Promise<number>
  readonly trustProxy?: boolean
  readonly timers?: Timers
  /** AUTH_RATE_LIMIT; no limit when left out. */
  readonly authRateLimit?: number
  /** EVENT_STREAMS_PER_SESSION; 20 when left out. */
  readonly streamsPerSession?: number
  readonly metricsToken?: string
  /** JOBS_LIST_SIZE; 1000 when left out. */
  readonly listSize?: number
  /** What the run says when left out. */
  readonly database?: 'sqlite' | 'postgres'
  readonly plugins?: readonly FastifyPluginAsync[]
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

/** A control plane without runners, listening, on a database of its own. */
export interface TestServer {
  /** Address with the base URL's prefix, without `/api/v2`. */
  readonly url: string
  readonly port: number
  readonly folder: string
  readonly app: FastifyInstance
  readonly store: Store
  readonly live: LiveEvents
  readonly credentials: Credentials
  /** Opens the secret values of jobs. */
  readonly vault: JobVault
  readonly uploadSweeper: UploadSweeper
  readonly sequences: Sequences
  readonly kinds: readonly SequenceKind[]
  /** The clock of the server; it stands still until it is moved. */
  readonly clock: { now(): number; move(ms: number): void }
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

export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-api-'))
  const put = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  for (const name of ['forms', 'workflows', 'playbooks']) await mkdir(join(folder, name))
  for (const [name, text] of Object.entries(options.forms ?? {})) await put(join('forms', name), text)
  for (const [name, text] of Object.entries(options.workflows ?? {})) await put(join('workflows', name), text)
  if (options.config !== undefined) await put('config.yaml', options.config)

  let time = Date.now()
  const clock = {
    now: () => time,
    move(ms: number) {
      time += ms
    },
  }
  const lines = options.log
  const logger = lines ? pino({}, { write: (line: string) => void lines.push(line) }) : pino({ level: 'silent' })
  const timers = options.timers ?? systemTimers
  const live = createLiveEvents()
  const database = await openTestStore(folder, options.database)
  const trail = createAuditTrail({ store: database, clock, log: logger })
  const { store } = trail
  const auditChain = createAuditChain({ store: database, clock, timers: systemTimers, log: logger })
  const metrics = createMetrics({ store, clock, log: logger, onlineRunners: () => 0 })
  const passwords = createPasswords(FAST_HASHES)
  const roles = await openRoleSource(join(folder, 'config.yaml'), { log: logger })
  const ringOf = (setting: string, name: string, given: string) =>
    openSecretRing({ setting, given, previous: null, folder, name, clock })
  const accessTokens = await ringOf('ACCESS_TOKEN_SECRET', 'access-token-secret', ACCESS_TOKEN_SECRET)
  const encryption = await ringOf('ENCRYPTION_SECRET', 'encryption-secret', ENCRYPTION_SECRET)
  const tokens = createTokens(accessTokens, clock)
  const sessions = createSessions({
    store,
    tokens,
    roles,
    clock,
    accessTokenMs: 30 * 60_000,
    refreshTokenMs: 24 * 3_600_000,
    sessionMaxMs: 30 * 24 * 3_600_000,
  })
  const apiTokens = createApiTokens({ store, roles, clock, log: logger, mostDays: 90 })
  const authenticate = bearerCheck({ sessions, apiTokens })
  const publicUrl = options.publicUrl ?? null
  const external = createExternalSignIn({
    ...{ store, roles, sessions, clock, log: logger, secret: ACCESS_TOKEN_SECRET, publicUrl, folder },
    credentials: { open: (name) => credentials.open(name) },
  })
  await external.check()
  const { directory, openId } = external
  const signIns = createSignIn({ store, passwords, sessions, clock, directory, meters: metrics.signIn })
  const accounts = createAccounts({ store, passwords, roles, signIn: signIns, clock, log: logger })
  const forms = createForms({
    folder: join(folder, 'forms'),
    varsFolder: join(folder, 'vars'),
    constants: () => Promise.resolve({}),
    clock,
    log: logger,
  })
  const workflows = createWorkflows({ folder: join(folder, 'workflows'), clock, log: logger })
  const box = createSecretBox(encryption)
  const serviceKeys = await openServiceKeys({
    ...{ store, clock, log: logger, box, bus: SILENT_BUS },
    timers: systemTimers,
  })
  const rotation = createSecretRotation({
    ...{ store, clock, log: logger, box, encryption, accessTokens, refreshTokenMs: 24 * 3_600_000 },
    timers: systemTimers,
    places: [{ column: credentialSecrets, ownerOf: ({ owner }) => owner }],
  })
  const vault = createJobVault(box)
  const credentials = createCredentials({
    store,
    clock,
    log: logger,
    box,
    file: createCredentialFile({ path: join(folder, 'credentials.yaml'), clock, log: logger }),
  })
  const jobCredentials = credentialsForJobs(credentials, roles)
  const checks = createLaunchChecks({ log: logger, script: CHECK_WORKER })
  const lock = createDesignerLock({ store, live, clock })
  const uploadFolder = await openUploadFolder({
    path: join(folder, 'uploads'),
    random: randomBytes,
    freeBytes: options.freeBytes,
  })
  const uploadSweeper = createUploadSweeper({
    ...{ store, folder: uploadFolder, clock, log: logger },
    // Tests sweep when they want to, and count the timers that they hold.
    timers: systemTimers,
  })
  await createFirstAdmin({
    store,
    passwords,
    clock,
    persistentPath: folder,
    username: 'admin',
    password: ADMIN_PASSWORD,
  })

  const files = createPlaybookFolder({ path: join(folder, 'playbooks'), maxBytes: 1024 * 1024, clock })
  const subjects = createApprovalSubjects({
    forms,
    planOf: (form) => sequences.planOf(form),
    files: { manifest: (job) => files.manifest(approvedNeedsOf(job)) },
    log: logger,
  })
  const dispatcher = createDispatcher({
    store,
    clock,
    live,
    log: logger,
    files,
    uploads: uploadFolder,
    sealSecrets: createJobSealing(jobCredentials, vault),
    meters: metrics.streams,
    outputLimitBytes: 1024 * 1024,
    limits: AMPLE,
    queueMs: 60_000,
    lostMs: 60_000,
    ends: { jobEnded: () => sequences.jobEnded() },
  })
  const newRunId = () => randomBytes(16).toString('hex')
  const grants = createGrants({ store, roles })
  const kinds = [createMultistep(forms), createWorkflowKind({ workflows, outputLimitBytes: 1024 * 1024 })]
  const sequences = createSequences({
    ...{
      store,
      clock,
      // As real time passes, however the clock of the server is moved.
      serviceClock: createServiceClock({ store: database, steady: createSteadyClock(systemClock) }),
      live,
      log: logger,
      grants,
      newRunId,
      runners: dispatcher,
      uploads: uploadFolder,
      credentials: jobCredentials,
      vault,
      subjects,
    },
    timers: systemTimers,
    maskPattern: MASK_PATTERN,
    kinds,
  })
  const reading = {
    queries: store.read,
    maskPattern: MASK_PATTERN,
    listSize: options.listSize ?? 1000,
    passwordFieldsOf: () => Promise.resolve(new Set<string>()),
    runners: dispatcher,
  }
  const app = await buildApp({
    logger,
    baseUrl: options.baseUrl ?? '/',
    trustProxy: options.trustProxy ?? false,
    bodyLimitBytes: options.bodyLimitBytes ?? 1024 * 1024,
    tls: null,
    version: '1.2.3',
    authenticate,
    trail,
    authRateLimit: options.authRateLimit ?? 0,
    meters: metrics.http,
    timers,
    plugins: [
      monitoringRoutes({ store, version: '1.2.3' }),
      metricsRoutes({ metrics, metricsToken: options.metricsToken ?? null, authenticate }),
      auditRoutes({ trail, chain: auditChain }),
      authRoutes({ signIn: signIns, sessions, apiTokens, openId }),
      singleSignOnRoutes({ signIn: external, sessions, publicUrl, meters: metrics.signIn }),
      profileRoutes({ accounts }),
      profileTokenRoutes({ apiTokens }),
      userRoutes({ accounts }),
      secretRoutes({ rotation }),
      serviceKeyRoutes({ serviceKeys }),
      sessionRoutes({ sessions: createSessionRecords({ store, clock }) }),
      formRoutes({ forms, workflows, roles }),
      credentialRoutes({ credentials }),
      appearanceRoutes({ store, live }),
      lockRoutes({ lock }),
      eventRoutes({
        ...{ live, sessions, timers, version: '1.2.3', meters: metrics.live },
        streamsPerSession: options.streamsPerSession ?? 20,
      }),
      uploadRoutes({
        uploads: createUploads({
          ...{ store, clock, folder: uploadFolder, maxBytes: options.uploadMaxBytes ?? 0 },
          quotas: options.uploadQuotas ?? { ofUser: 0, ofAll: 0 },
        }),
        forms,
        timers,
      }),
      jobRoutes({
        reading,
        launching: {
          ...{
            store,
            forms,
            live,
            clock,
            log: logger,
            runners: dispatcher,
            sequences,
            credentials: jobCredentials,
            vault,
            subjects,
            checks,
            uploads: uploadFolder,
          },
          maskPattern: MASK_PATTERN,
          validation: options.validation ?? 'off',
          unknownFields: options.unknownFields ?? 'refuse',
          newRunId,
        },
        actions: { store, live, clock, runners: dispatcher, sequences, uploads: uploadSweeper },
      }),
      jobApprovalRoutes({
        reading,
        approving: { store, live, clock, runners: dispatcher, sequences, grants, subjects },
      }),
      jobStreamRoutes(reading),
      jobNodeRoutes(reading),
      ...(options.plugins ?? []),
    ],
  })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  if (options.plugins) allowOwnRoutes(address)
  const prefix = (options.baseUrl ?? '').replace(/\/$/, '')

  async function call(method: string, path: string, given: CallOptions = {}): Promise<Answer> {
    const body = given.json === undefined ? given.body : JSON.stringify(given.json)
    const response = await fetch(`${address}${prefix}/api/v2${path}`, {
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

  const { token: admin } = await signIn('admin')
  return {
    url: address + prefix,
    port: Number(new URL(address).port),
    folder,
    app,
    store,
    live,
    credentials,
    vault,
    uploadSweeper,
    sequences,
    kinds,
    clock,
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
      await app.close()
      await checks.close()
      await sequences.close()
      await rotation.close()
      await serviceKeys.close()
      await dispatcher.close()
      await uploadSweeper.close()
      await auditChain.close()
      await trail.close()
      await store.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
