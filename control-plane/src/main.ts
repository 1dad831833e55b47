import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import { createAuditChain } from './audit/chain.js'
import { createAuditExport } from './audit/export.js'
import { auditTargetsOf } from './audit/targets.js'
import { createAuditRetention } from './audit/retention.js'
import { createAuditTrail } from './audit/trail.js'
import { createAccounts } from './auth/accounts.js'
import { createApiTokens } from './auth/api-tokens.js'
import { bearerCheck } from './auth/bearer.js'
import { createExternalSignIn } from './auth/external-sign-in.js'
import { createFirstAdmin } from './auth/first-admin.js'
import { createGrants } from './auth/grants.js'
import { createPasswords } from './auth/passwords.js'
import { credentialsForJobs } from './auth/provider-secrets.js'
import { openRoleSource } from './auth/role-source.js'
import { createSessionRecords } from './auth/session-records.js'
import { createSessions } from './auth/sessions.js'
import { createSignIn } from './auth/sign-in.js'
import { createSweeper } from './auth/sweeper.js'
import { createTokens } from './auth/tokens.js'
import { createSteadyClock, systemClock } from './clock.js'
import { createCredentialFile } from './credentials/credential-file.js'
import { createCredentials } from './credentials/credentials.js'
import { createJobSealing } from './credentials/job-secrets.js'
import { createJobVault, ownerOfRun } from './credentials/job-vault.js'
import { createSecretRotation } from './credentials/secret-rotation.js'
import { createSecretBox } from './credentials/secret-box.js'
import { createDesignerLock, createLockExpiry } from './forms/designer-lock.js'
import { createForms } from './forms/loader.js'
import { createLaunchChecks } from './forms/sandbox/launch-checks.js'
import { buildApp } from './http/app.js'
import { appearanceRoutes } from './http/appearance.js'
import { auditRoutes } from './http/audit.js'
import { authRoutes } from './http/auth.js'
import { credentialRoutes } from './http/credential.js'
import { eventRoutes } from './http/events.js'
import { formRoutes } from './http/forms.js'
import { jobApprovalRoutes } from './http/job-approvals.js'
import { jobNodeRoutes } from './http/job-node.js'
import { jobStreamRoutes } from './http/job-streams.js'
import { jobRoutes } from './http/job.js'
import { lockRoutes } from './http/lock.js'
import { metricsRoutes } from './http/metrics.js'
import { monitoringRoutes } from './http/monitoring.js'
import { orphanRoutes } from './http/orphan.js'
import { profileTokenRoutes } from './http/profile-tokens.js'
import { profileRoutes } from './http/profile.js'
import { runnerSocketRoute } from './http/runner-socket.js'
import { runnerRoutes } from './http/runner.js'
import { secretRoutes } from './http/secret.js'
import { sessionRoutes } from './http/session.js'
import { serviceKeyRoutes } from './http/service-key.js'
import { singleSignOnRoutes } from './http/single-sign-on.js'
import { uploadRoutes } from './http/upload.js'
import { userRoutes } from './http/user.js'
import { createApprovalSubjects } from './jobs/approval-subject.js'
import { sealOpenJobs } from './jobs/carried-over.js'
import type { JobReading } from './jobs/reading.js'
import { createJobRetention } from './jobs/retention.js'
import { createLiveEvents } from './live/live-events.js'
import { createLog } from './log.js'
import { createMetrics } from './metrics/metrics.js'
import { SOLE_NODE, createSharedNode } from './nodes/nodes.js'
import { createServiceClock } from './nodes/service-clock.js'
import { createDispatcher } from './runners/dispatcher.js'
import { streamLimits } from './runners/stream-limits.js'
import { createRunnerHub } from './runners/hub.js'
import { createJoinTokens } from './runners/join-tokens.js'
import { approvedNeedsOf } from './runners/job-order.js'
import { createOrphanActions } from './runners/orphan-actions.js'
import { createPlaybookFolder } from './runners/playbook-folder.js'
import { openServiceKeys, ownerOfServiceKey } from './runners/service-keys.js'
import { openSecretRing } from './secret-ring.js'
import { keptSecret } from './secrets.js'
import { createMultistep } from './sequences/multistep/multistep.js'
import { createSequences } from './sequences/sequences.js'
import type { ControlPlaneSettings } from './settings.js'
import { notificationsOf } from './store/open-notifications.js'
import {
  type SealedRow,
  credentialSecrets,
  jobSecrets,
  serviceKeys as serviceKeyColumn,
} from './store/sealed-columns.js'
import { holdDatabase, openStore } from './store/open-store.js'
import { createWorkflows } from './sequences/workflows/loader.js'
import { createWorkflowKind } from './sequences/workflows/workflow-kind.js'
import { systemTimers } from './timers.js'
import { readTlsFiles } from './tls-files.js'
import { createUploadSweeper } from './uploads/sweeper.js'
import { openUploadFolder } from './uploads/upload-folder.js'
import { createUploads } from './uploads/uploads.js'
import { version } from './version.js'

/** What a test may put in place of the real thing. */
export interface ControlPlaneOverrides {
  readonly log?: Logger
}

/** A control plane that serves. */
export interface ControlPlane {
  /** Where it listens, with the base URL. */
  readonly address: string
  close(): Promise<void>
}

/**
 * Builds every part, in order, and listens. This is the only place that knows every room.
 * @throws SettingsError, UnavailableError, or what listening throws; whatever was opened is closed again
 */
export async function startControlPlane(
  settings: ControlPlaneSettings,
  overrides: ControlPlaneOverrides = {},
): Promise<ControlPlane> {
  const opened: (() => Promise<unknown>)[] = []
  // Closed in the reverse order of opening: nothing is taken away from a part that still works.
  const close = async () => {
    for (const closePart of opened.splice(0).reverse()) await closePart()
  }
  try {
    const address = await build(settings, overrides, (closePart) => void opened.push(closePart))
    return { address, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function build(
  settings: ControlPlaneSettings,
  overrides: ControlPlaneOverrides,
  onClose: (closePart: () => Promise<unknown>) => void,
): Promise<string> {
  const clock = systemClock
  const timers = systemTimers
  const log =
    overrides.log ?? createLog({ level: settings.logLevel, format: settings.logFormat, output: process.stdout })
  const tls = await readTlsFiles(settings.tls)
  const { database: place } = settings
  for (const folder of [settings.persistentPath, ...(place.kind === 'sqlite' ? [dirname(place.path)] : [])]) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
  }
  for (const folder of [settings.formsPath, settings.varsFilesPath, settings.workflowsPath, settings.playbooksPath])
    await mkdir(folder, { recursive: true })

  // Before the tables are brought up to date: what another one works on is left alone.
  const letGo = await holdDatabase(place, clock.now(), (text) => log.warn(text))
  onClose(letGo)
  const database = await openStore(place, (text) => log.warn(text))
  onClose(() => database.close())
  const trail = createAuditTrail({ store: database, clock, log, keepsReads: settings.auditReads })
  onClose(() => trail.close())
  const { store } = trail
  const metrics = createMetrics({
    store,
    clock,
    log,
    onlineRunners: () => hub.counts().online,
    nodes: () => nodes.counts(),
  })
  const openPost = await notificationsOf(place, { timers, log })
  const nodes = openPost
    ? createSharedNode({ store: database, clock, timers, log, random: randomBytes, version, openPost })
    : SOLE_NODE
  onClose(() => nodes.close())
  const live = createLiveEvents(nodes.bus)
  // Runners of a node that died are not online, and jobs not connected, until another node has their sockets.
  nodes.onChange(() => {
    live.changed('runners')
    live.changed('jobs')
  })

  const secret = await openSecretRing({
    ...{
      setting: 'ACCESS_TOKEN_SECRET',
      given: settings.accessTokenSecret,
      previous: settings.accessTokenSecretPrevious,
    },
    ...{ folder: settings.persistentPath, name: 'access-token-secret', clock },
  })
  const passwords = createPasswords()
  const roles = await openRoleSource(settings.configPath, { log })
  const tokens = createTokens(secret, clock)
  const { accessTokenMs, refreshTokenMs, sessionMaxMs } = settings
  const sessions = createSessions({ store, tokens, roles, clock, accessTokenMs, refreshTokenMs, sessionMaxMs })
  const apiTokens = createApiTokens({ store, roles, clock, log, mostDays: settings.apiTokenMaxDays })
  const authenticate = bearerCheck({ sessions, apiTokens })
  const { publicUrl } = settings
  const external = createExternalSignIn({
    ...{ store, roles, sessions, clock, log, secret, publicUrl, folder: dirname(settings.configPath) },
    credentials: { open: (name) => credentials.open(name) },
  })
  await external.check()
  const { directory, openId } = external
  const signIn = createSignIn({ store, passwords, sessions, clock, directory, meters: metrics.signIn })
  const accounts = createAccounts({ store, passwords, roles, signIn, clock, log })
  const sweeper = createSweeper({ store, clock, timers, log })
  onClose(() => sweeper.close())
  const auditChain = createAuditChain({ store: database, clock, timers, log })
  onClose(() => auditChain.close())
  const auditTargets = auditTargetsOf(settings)
  if (auditTargets.length > 0) {
    const holder = randomBytes(8).toString('hex')
    const auditExport = createAuditExport({ store: database, clock, timers, log, holder, targets: auditTargets })
    onClose(() => auditExport.close())
  }
  const retention = createAuditRetention({
    ...{ store, clock, timers, log, chain: auditChain },
    keepMs: settings.auditRetentionMs,
  })
  onClose(() => retention.close())
  await welcomeFirstAdmin()

  const uploadFolder = await openUploadFolder({ path: settings.uploadPath, random: randomBytes })
  const uploadSweeper = createUploadSweeper({ store, folder: uploadFolder, clock, timers, log })
  onClose(() => uploadSweeper.close())
  const jobRetention = createJobRetention({
    ...{ store, live, clock, timers, log, uploads: uploadSweeper },
    keepMs: settings.jobRetentionMs,
  })
  onClose(() => jobRetention.close())

  const forms = createForms({
    folder: settings.formsPath,
    varsFolder: settings.varsFilesPath,
    constants: async () => (await roles.current()).constants ?? {},
    clock,
    log,
  })
  const lockExpiry = createLockExpiry({ store, live, clock, timers, log })
  onClose(() => lockExpiry.close())
  const workflows = createWorkflows({ folder: settings.workflowsPath, clock, log })
  const checks = createLaunchChecks({ log, locale: settings.formsLocale })
  onClose(() => checks.close())
  const encryptionSecret = await openSecretRing({
    ...{ setting: 'ENCRYPTION_SECRET', given: settings.encryptionSecret, previous: settings.encryptionSecretPrevious },
    ...{ folder: settings.persistentPath, name: 'encryption-secret', clock },
  })
  const box = createSecretBox(encryptionSecret)
  const vault = createJobVault(box)
  const credentials = createCredentials({
    store,
    clock,
    log,
    box,
    file: createCredentialFile({ path: settings.credentialsPath, clock, log }),
  })
  await credentials.check()
  const carriedOver = await sealOpenJobs(store, vault)
  if (carriedOver > 0) log.info({ jobs: carriedOver }, 'passwords of jobs of an older release were encrypted')
  const jobCredentials = credentialsForJobs(credentials, roles)
  const files = createPlaybookFolder({ path: settings.playbooksPath, maxBytes: settings.runnerFilesMaxBytes, clock })
  const subjects = createApprovalSubjects({
    forms,
    planOf: (form) => sequences.planOf(form),
    files: { manifest: (job) => files.manifest(approvedNeedsOf(job)) },
    log,
  })
  const steady = createSteadyClock(clock)
  const serviceClock = createServiceClock({ store: database, steady })
  const dispatcher = createDispatcher({
    store,
    clock,
    steady,
    serviceClock,
    live,
    log,
    files,
    sealSecrets: createJobSealing(jobCredentials, vault),
    uploads: uploadFolder,
    outputLimitBytes: settings.maxOutputBytes,
    limits: streamLimits({
      outputBytes: settings.maxOutputBytes,
      eventsBytes: settings.maxEventsBytes,
      events: settings.maxEvents,
    }),
    queueMs: settings.runnerQueueMs,
    lostMs: settings.runnerLostMs,
    meters: metrics.streams,
    nodes,
    // Called when jobs end; by then the sequences are there.
    ends: { jobEnded: () => sequences.jobEnded() },
  })
  onClose(() => dispatcher.close())
  const newRunId = () => randomBytes(16).toString('hex')
  const grants = createGrants({ store, roles })
  const sequences = createSequences({
    ...{
      store,
      clock,
      serviceClock,
      timers,
      live,
      log,
      grants,
      newRunId,
      runners: dispatcher,
      uploads: uploadFolder,
      credentials: jobCredentials,
      vault,
      subjects,
    },
    maskPattern: settings.maskExtravars,
    kinds: [createMultistep(forms), createWorkflowKind({ workflows, outputLimitBytes: settings.maxOutputBytes })],
  })
  onClose(() => sequences.close())
  const serviceKeys = await openServiceKeys({
    ...{ store, clock, timers, log, bus: nodes.bus },
    // Every node on PostgreSQL has ENCRYPTION_SECRET; a file of its own outlives a change of that one.
    box: createSecretBox(
      place.kind === 'sqlite' ? await keptSecret(settings.persistentPath, 'service-secret') : encryptionSecret,
    ),
  })
  onClose(() => serviceKeys.close())
  const rotation = createSecretRotation({
    ...{ store, clock, timers, log, box, encryption: encryptionSecret, accessTokens: secret, refreshTokenMs },
    places: [
      { column: credentialSecrets, ownerOf: ({ owner }) => owner },
      { column: jobSecrets, ownerOf: ({ owner }) => ownerOfRun(owner) },
      // On SQLite it has a secret of its own.
      ...(place.kind === 'sqlite'
        ? []
        : [{ column: serviceKeyColumn, ownerOf: ({ owner }: SealedRow) => ownerOfServiceKey(owner) }]),
    ],
  })
  onClose(() => rotation.close())
  const hub = createRunnerHub({
    store,
    service: serviceKeys,
    clock,
    random: randomBytes,
    live,
    log,
    version,
    openSession: dispatcher.openSession,
    onRevoked: dispatcher.revoked,
    heartbeatMs: settings.runnerHeartbeatMs,
    lostMs: settings.runnerLostMs,
    nodes,
  })
  onClose(() => hub.close())

  const reading: JobReading = {
    queries: store.read,
    maskPattern: settings.maskExtravars,
    listSize: settings.jobsListSize,
    passwordFieldsOf: async (name) => {
      const form = (await forms.all()).find((known) => known.name === name)
      return new Set(form?.passwordFields ?? [])
    },
    runners: dispatcher,
  }
  const app = await buildApp({
    logger: log,
    baseUrl: settings.baseUrl,
    trustProxy: settings.trustProxy,
    bodyLimitBytes: settings.bodyLimitBytes,
    tls,
    version,
    authenticate,
    trail,
    authRateLimit: settings.authRateLimit,
    meters: metrics.http,
    timers,
    plugins: [
      monitoringRoutes({ store, version }),
      metricsRoutes({ metrics, metricsToken: settings.metricsToken, authenticate }),
      auditRoutes({ trail, chain: auditChain }),
      authRoutes({ signIn, sessions, apiTokens, openId }),
      singleSignOnRoutes({ signIn: external, sessions, publicUrl, meters: metrics.signIn }),
      profileRoutes({ accounts }),
      profileTokenRoutes({ apiTokens }),
      userRoutes({ accounts }),
      secretRoutes({ rotation }),
      sessionRoutes({ sessions: createSessionRecords({ store, clock }) }),
      formRoutes({ forms, workflows, roles }),
      credentialRoutes({ credentials }),
      appearanceRoutes({ store, live }),
      lockRoutes({ lock: createDesignerLock({ store, live, clock }) }),
      eventRoutes({
        ...{ live, sessions, timers, version, meters: metrics.live },
        streamsPerSession: settings.eventStreamsPerSession,
      }),
      jobRoutes({
        reading,
        launching: {
          store,
          forms,
          live,
          clock,
          log,
          runners: dispatcher,
          sequences,
          credentials: jobCredentials,
          vault,
          subjects,
          maskPattern: settings.maskExtravars,
          newRunId,
          validation: settings.launchValidation,
          unknownFields: settings.unknownFields,
          checks,
          uploads: uploadFolder,
        },
        actions: { store, live, clock, runners: dispatcher, sequences, uploads: uploadSweeper },
      }),
      jobApprovalRoutes({
        reading,
        approving: { store, live, clock, runners: dispatcher, sequences, grants, subjects },
      }),
      jobStreamRoutes(reading),
      jobNodeRoutes(reading),
      uploadRoutes({
        uploads: createUploads({
          ...{ store, clock, folder: uploadFolder, maxBytes: settings.uploadMaxBytes },
          quotas: settings.uploadQuotas,
        }),
        forms,
        timers,
      }),
      runnerRoutes({
        hub,
        joinTokens: createJoinTokens({
          ...{ store, clock, random: randomBytes, log },
          fingerprint: () => serviceKeys.view().fingerprint,
        }),
      }),
      orphanRoutes({
        orphans: createOrphanActions({ store, live, log, decided: (runner) => dispatcher.orphansDecided(runner) }),
        hub,
      }),
      serviceKeyRoutes({ serviceKeys }),
      runnerSocketRoute({ hub }),
    ],
  })
  onClose(() => app.close())
  // Before the server: the runners then hear why, and come back as soon as they can.
  onClose(() => hub.close())
  const listening = await app.listen({ port: settings.port, host: settings.listenHost })
  const address = listening + settings.baseUrl.replace(/\/+$/, '')
  await nodes.start(`${hostname()}:${new URL(listening).port || settings.port}`)
  warnOffLoopback()
  log.info({ address, version }, 'listening')
  return address

  async function welcomeFirstAdmin(): Promise<void> {
    const admin = await createFirstAdmin({
      store,
      passwords,
      clock,
      persistentPath: settings.persistentPath,
      ...settings.admin,
    })
    if (admin && admin.generatedPassword !== null) {
      // Said once, and not through the log, which is kept and shipped elsewhere.
      process.stderr.write(
        `First start: sign in as '${admin.username}' with the password ${admin.generatedPassword}\n` +
          `It is also kept in ${admin.passwordFile ?? ''}; change it and remove the file.\n`,
      )
    }
  }

  function warnOffLoopback(): void {
    const isLoopback = /^(127\.|::1$|localhost$)/.test(settings.listenHost)
    if (isLoopback || settings.tls || settings.trustProxy) return
    log.warn(
      { host: settings.listenHost },
      'listening beyond this machine without TLS: set HTTPS, or TRUST_PROXY behind a proxy that does it',
    )
  }
}
