import type { AgeLimits } from '../ages/age-limits.js'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import type { AuditParts } from '../audit/compose.js'
import type { AuthParts } from '../auth/compose.js'
import type { CredentialParts } from '../credentials/compose.js'
import type { SecretRotation } from '../credentials/encryption/rotation.js'
import type { FormParts } from '../forms/compose.js'
import type { Ground } from '../ground/ground.js'
import type { JobParts } from '../jobs/compose.js'
import type { LiveEvents } from '../live/live-events.js'
import type { Metrics } from '../metrics/metrics.js'
import type { Nodes } from '../nodes/nodes.js'
import type { NotificationParts } from '../notifications/compose.js'
import type { RunnerParts } from '../runners/compose.js'
import type { ScheduleParts } from '../schedules/starts.js'
import type { SequenceParts } from '../sequences/compose.js'
import { databaseIdOf } from '../store/database-id.js'
import type { Store } from '../store/store.js'
import type { UploadParts } from '../uploads/uploads.js'
import { version } from '../version.js'
import { WEB_FOLDER } from '../web-folder.js'
import { type AppDependencies, buildApp } from './app.js'
import { appearanceRoutes } from './service/appearance.js'
import { attentionRoutes } from './service/attention.js'
import { auditRoutes } from './service/audit.js'
import { authRoutes } from './sign-in/auth.js'
import { browserSessionRoutes } from './sign-in/browser-session.js'
import { credentialRoutes } from './service/credential.js'
import { eventRoutes } from './service/events.js'
import { configRoutes } from './forms/config.js'
import { askField } from '../jobs/launch/ask-field.js'
import { askFieldRoutes } from './forms/ask-field.js'
import { evaluateRoutes } from './forms/evaluate.js'
import { formProblems, formRoutes } from './forms/forms.js'
import { jobApprovalRoutes } from './jobs/job-approvals.js'
import { jobCompareRoutes } from './jobs/job-compare.js'
import { jobNodeRoutes } from './jobs/job-node.js'
import { jobCourseRoutes } from './jobs/job-course.js'
import { jobOutputRoutes } from './jobs/job-output.js'
import { jobStreamRoutes } from './jobs/job-streams.js'
import { jobRoutes } from './jobs/job.js'
import { lockRoutes } from './forms/lock.js'
import { metricsRoutes } from './service/metrics.js'
import { notificationTargetRoutes } from './service/notification-target.js'
import { notificationRoutes } from './service/notification.js'
import { monitoringRoutes } from './service/monitoring.js'
import { orphanRoutes } from './runners/orphan.js'
import { createAnswerTurns } from './route/answer-turns.js'
import { type PageFiles, readPageFiles } from './pages/page-files.js'
import { pageStartRoutes } from './service/page-start.js'
import { profileTokenRoutes } from './accounts/profile-tokens.js'
import { profileRoutes } from './accounts/profile.js'
import { prefixOf } from './route/paths.js'
import { scheduleRoutes } from './jobs/schedule.js'
import { runnerSocketRoute } from './runners/runner-socket.js'
import { runnerRoutes } from './runners/runner.js'
import { roleRoutes } from './accounts/role.js'
import { secretRoutes } from './service/secret.js'
import { type SettingInForce, serviceSettingRoutes } from './service/service-settings.js'
import { serviceKeyRoutes } from './runners/service-key.js'
import { sessionRoutes } from './accounts/session.js'
import { singleSignOnRoutes } from './sign-in/single-sign-on.js'
import { uploadRoutes } from './forms/upload.js'
import { userRoutes } from './accounts/user.js'

/** What the web server needs of the settings. */
export interface HttpSettings {
  readonly baseUrl: string
  /** Without a slash at its end; null: unknown. */
  readonly publicUrl: string | null
  /** PEM files; null: the service does no TLS. */
  readonly tls: { readonly certPath: string; readonly keyPath: string } | null
  /** Null: there is no proxy. */
  readonly trustProxy: AppDependencies['trustProxy']
  /** Whether the pages are served. */
  readonly web: boolean
  readonly bodyLimitBytes: number
  /** Requests a minute of one address; 0: no limit. */
  readonly authRateLimit: number
  /** 0: no limit. */
  readonly eventStreamsPerSession: number
  readonly metricsToken: string | null
  /** Every setting with its present value, for admins to read. */
  readonly settingsInForce: readonly SettingInForce[]
}

/** The rooms below the web server. */
export interface Rooms {
  readonly store: Store
  readonly ages: AgeLimits
  readonly live: LiveEvents
  readonly metrics: Metrics
  readonly audit: AuditParts
  readonly auth: AuthParts
  readonly uploads: UploadParts
  readonly forms: FormParts
  readonly credentials: CredentialParts
  readonly rotation: SecretRotation
  readonly runners: RunnerParts
  readonly sequences: SequenceParts
  readonly jobs: JobParts
  readonly schedules: ScheduleParts
  readonly notifications: NotificationParts
  readonly nodes: Nodes
}

/** What the web server needs in addition to the rooms. */
export interface HttpNeeds {
  readonly tls: AppDependencies['tls']
  /** Routes in addition to those of the product. */
  readonly moreRoutes?: readonly FastifyPluginAsync[] | undefined
  /** Why sessions of the database do not work as they must; null: they do. */
  readonly sessionDoubt: string | null
}

/** Builds the web server with the routes of every room, ready to listen. */
export async function composeApp(
  ground: Ground,
  settings: HttpSettings,
  rooms: Rooms,
  { tls, moreRoutes = [], sessionDoubt }: HttpNeeds,
): Promise<FastifyInstance> {
  const app = await buildApp({
    logger: ground.log,
    timers: ground.timers,
    baseUrl: settings.baseUrl,
    trustProxy: settings.trustProxy,
    isPublicTls: settings.publicUrl?.startsWith('https:') ?? false,
    bodyLimitBytes: settings.bodyLimitBytes,
    authRateLimit: settings.authRateLimit,
    tls,
    version,
    authentication: {
      bearer: rooms.auth.authenticate,
      browser: (cookie) => rooms.auth.browserSessions.authenticate(cookie),
      publicUrl: settings.publicUrl,
    },
    trail: rooms.audit.trail,
    meters: rooms.metrics.http,
    pages: await pagesOf(ground, settings),
    plugins: [
      ...serviceRoutes(ground, settings, rooms, sessionDoubt),
      ...accountRoutes(settings, rooms),
      ...workRoutes(ground, settings, rooms),
      ...moreRoutes,
    ],
  })
  ground.onClose(() => app.close())
  return app
}

/** The pages; null when they are turned off, or in a clone in which they were not built. */
async function pagesOf({ log }: Ground, settings: HttpSettings): Promise<PageFiles | null> {
  if (!settings.web) return null
  const pages = await readPageFiles(WEB_FOLDER, prefixOf(settings.baseUrl))
  if (!pages) log.warn({ folder: WEB_FOLDER }, 'the web console was not built (npm run build), so it is not served')
  return pages
}

/** Routes of the service itself: probes, metrics, audit trail, events, appearance. */
function serviceRoutes(
  { timers }: Ground,
  settings: HttpSettings,
  rooms: Rooms,
  sessionDoubt: string | null,
): FastifyPluginAsync[] {
  const { store, live, metrics, audit, auth } = rooms
  const { metricsToken, eventStreamsPerSession: streamsPerSession } = settings
  const { sessions, authenticate } = auth
  // Asked each time: another node may have given a new one.
  const database = () => databaseIdOf(store)
  return [
    monitoringRoutes({
      store,
      version,
      warnings: () =>
        [
          sessionDoubt,
          rooms.nodes.trouble(),
          rooms.runners.serviceKeys.trouble(),
          rooms.ages.trouble(),
          rooms.runners.folderReport.trouble(),
        ].filter((one) => one !== null),
    }),
    pageStartRoutes({ store, openId: auth.external.openId }),
    metricsRoutes({ metrics, metricsToken, authenticate }),
    auditRoutes({ ...audit, database }),
    appearanceRoutes({ store, live }),
    notificationTargetRoutes(rooms.notifications),
    notificationRoutes(rooms.notifications),
    serviceSettingRoutes({ inForce: settings.settingsInForce }),
    eventRoutes({
      live,
      sessions,
      timers,
      hello: async () => ({ version, database: await database() }),
      onWentBack: (listener) => rooms.nodes.onWentBack(listener),
      meters: metrics.live,
      streamsPerSession,
    }),
  ]
}

/** Routes about accounts, sign-in and secrets. */
function accountRoutes({ publicUrl }: HttpSettings, rooms: Rooms): FastifyPluginAsync[] {
  const { store, auth, credentials, rotation, runners, metrics } = rooms
  const { signIn, sessions, browserSessions, external, accounts, apiTokens, sessionRecords } = auth
  return [
    authRoutes({ signIn, sessions, apiTokens, openId: external.openId }),
    browserSessionRoutes({ signIn, browserSessions, sessions, openId: external.openId, publicUrl }),
    singleSignOnRoutes({ store, signIn: external, sessions, browserSessions, publicUrl, meters: metrics.signIn }),
    profileRoutes({ accounts }),
    profileTokenRoutes({ apiTokens }),
    userRoutes({ accounts }),
    roleRoutes({ accounts, roles: auth.roles }),
    secretRoutes({ rotation }),
    sessionRoutes({ sessions: sessionRecords }),
    credentialRoutes({ credentials: credentials.credentials }),
    serviceKeyRoutes({ serviceKeys: runners.serviceKeys }),
  ]
}

/** Routes about forms, jobs and runners. */
function workRoutes({ timers }: Ground, settings: HttpSettings, rooms: Rooms): FastifyPluginAsync[] {
  const { auth, uploads, forms, sequences, jobs, runners } = rooms
  const { reading, launching, actions, approving, detail, feeds, indexes, courses, search, evaluation, nodes } = jobs
  const { eventStreamsPerSession: streamsPerSession } = settings
  const { sessions } = auth
  const { hub, joinTokens, orphans, addresses } = runners
  const answerTurns = createAnswerTurns()
  const shown = {
    folderReport: runners.folderReport,
    forms: forms.forms,
    workflows: sequences.workflows,
    roles: auth.roles,
  }
  return [
    attentionRoutes({ reading, hub, orphans, formProblems: () => formProblems(shown) }),
    formRoutes(shown),
    evaluateRoutes(evaluation),
    askFieldRoutes((caller, request) => askField(launching, caller, request)),
    configRoutes(shown),
    lockRoutes({ lock: forms.designerLock }),
    jobRoutes({ detail, launching, actions, answerTurns }),
    jobApprovalRoutes({ reading, approving }),
    jobStreamRoutes({ reading, courses, answerTurns }),
    jobCourseRoutes({ reading, courses, search, answerTurns }),
    jobOutputRoutes({ reading, feeds, indexes, sessions, timers, streamsPerSession }),
    jobNodeRoutes(reading, nodes),
    jobCompareRoutes({ reading, courses }),
    scheduleRoutes(rooms.schedules),
    uploadRoutes({ uploads: uploads.uploads, forms: forms.forms, timers }),
    runnerRoutes({ hub, joinTokens, addresses }),
    orphanRoutes({ orphans, hub }),
    runnerSocketRoute({ hub }),
  ]
}
