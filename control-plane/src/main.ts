import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { createPartsOwner } from '@holdfast/host/parts-owner'
import type { FastifyPluginAsync } from 'fastify'
import type { Logger } from 'pino'
import { composeAgeLimits } from './ages/age-limits.js'
import { composeAudit } from './audit/compose.js'
import { type AuthNeeds, type AuthParts, composeAuth } from './auth/compose.js'
import { credentialsForJobs } from './auth/providers/provider-secrets.js'
import { type Clock, createSteadyClock, systemClock } from './time/clock.js'
import { composeCredentials, composeSecretRotation } from './credentials/compose.js'
import { createJobSealing } from './credentials/job/sealing.js'
import { composeDatabases } from './databases/databases.js'
import { type FormNeeds, composeForms } from './forms/compose.js'
import type { Ground } from './ground/ground.js'
import { type Rooms, composeApp } from './http/compose.js'
import { composeJobs } from './jobs/compose.js'
import type { JobEnds } from './jobs/record/sequence-port.js'
import { composeLive } from './live/live-events.js'
import { createLog } from './ground/log.js'
import { setLogLevel } from './log-level-file.js'
import { createMetrics } from './metrics/metrics.js'
import { composeNodes } from './nodes/nodes.js'
import { createServiceClock } from './nodes/service-clock.js'
import { composeNotifications } from './notifications/compose.js'
import { composeRunners } from './runners/compose.js'
import { composeSchedules } from './schedules/starts.js'
import { composeSequences } from './sequences/compose.js'
import type { ControlPlaneSettings } from './settings.js'
import { type SourceNeeds, composeSources } from './sources/compose.js'
import { composeStore, findSessionDoubt, startWithDatabase } from './store/open-store.js'
import type { RawStore } from './store/store.js'
import { type Timers, systemTimers } from './time/timers.js'
import { readTlsFiles, reloadTlsFiles } from './tls-files.js'
import { type UploadNeeds, composeUploads } from './uploads/uploads.js'
import { version } from './version.js'

/** What a test may replace: things of the machine and the moment, never a part of the product. */
export interface ControlPlaneOverrides {
  readonly clock?: Clock
  /** A clock that never jumps. */
  readonly steady?: Clock
  readonly timers?: Timers
  readonly random?: (bytes: number) => Buffer
  readonly log?: Logger
  /** Wraps the database that was opened. */
  readonly store?: (opened: RawStore) => RawStore
  /** How much work the hash of a password needs. */
  readonly hashCost?: AuthNeeds['hashCost']
  /** Free bytes of a disk. */
  readonly freeBytes?: UploadNeeds['freeBytes']
  /** Routes in addition to those of the product. */
  readonly moreRoutes?: readonly FastifyPluginAsync[]
}

/**
 * How long a write waits for a database that is locked or away while the service stops, in milliseconds. The parts are
 * closed one after the other. If each waited as long as a request does, a service manager would kill the service first.
 */
const STOP_WAIT_MS = 1000

/** The parts of a control plane by room, connected with each other. Nothing listens yet. */
export type ControlPlaneParts = Awaited<ReturnType<typeof composeRooms>> & {
  readonly ground: Ground
  close(): Promise<void>
}

/** A control plane that listens. */
export interface ControlPlane {
  /** Where it listens, with the base URL. */
  readonly address: string
  readonly parts: ControlPlaneParts
  /**
   * Reads certificate, key, config.yaml and the level of the log anew. Forms and credentials are looked at when they
   * are used.
   */
  reload(): Promise<void>
  close(): Promise<void>
}

/**
 * Builds every part from the settings. Each room is composed by its `compose.ts`, a small one by its main file. This
 * function only says which room gets what from which other one.
 * @throws SettingsError, UnavailableError; everything that was opened is closed again
 */
async function buildControlPlane(
  settings: ControlPlaneSettings,
  overrides: ControlPlaneOverrides = {},
): Promise<ControlPlaneParts> {
  const { onClose, close } = createPartsOwner()
  const ground: Ground = { ...groundOf(settings, overrides), onClose }
  try {
    const rooms = await composeRooms(ground, settings, overrides)
    const closeSoon = async (): Promise<void> => {
      rooms.store.limitWaits(STOP_WAIT_MS)
      await close()
    }
    return { ...rooms, ground, close: closeSoon }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Builds every part and listens. While a PostgreSQL server goes away and comes back, this is done again.
 * @throws SettingsError, UnavailableError, or the error of listening; everything that was opened is closed again
 */
export function startControlPlane(
  settings: ControlPlaneSettings,
  overrides: ControlPlaneOverrides = {},
): Promise<ControlPlane> {
  const log = logOf(settings, overrides)
  const start = () => startOnce(settings, { ...overrides, log })
  return startWithDatabase(settings.database, start, (text) => log.warn(text))
}

async function startOnce(settings: ControlPlaneSettings, overrides: ControlPlaneOverrides): Promise<ControlPlane> {
  const parts = await buildControlPlane(settings, overrides)
  const { close } = parts
  try {
    await setLogLevel(settings, parts.ground.log)
    const listening = await parts.app.listen({ port: settings.port, host: settings.listenHost })
    const address = listening + settings.baseUrl.replace(/\/+$/, '')
    await parts.nodes.start(`${hostname()}:${new URL(listening).port || settings.port}`)
    warnOffLoopback(settings, parts.ground.log)
    parts.ground.log.info({ address, version }, 'listening')
    const reload = async (): Promise<void> => {
      await reloadTlsFiles(settings.tls, parts.app.server, parts.ground.log)
      await parts.auth.roles.current()
      await setLogLevel(settings, parts.ground.log)
    }
    return { address, parts, reload, close }
  } catch (error) {
    await close()
    throw error
  }
}

function logOf({ logLevel: level, logFormat: format }: ControlPlaneSettings, { log }: ControlPlaneOverrides): Logger {
  return log ?? createLog({ level, format, output: process.stdout })
}

function groundOf(settings: ControlPlaneSettings, overrides: ControlPlaneOverrides): Omit<Ground, 'onClose'> {
  const { clock = systemClock, timers = systemTimers, random = randomBytes } = overrides
  const log = logOf(settings, overrides)
  return { clock, steady: overrides.steady ?? createSteadyClock(clock), timers, random, log }
}

async function openDatabase(ground: Ground, settings: ControlPlaneSettings, overrides: ControlPlaneOverrides) {
  const opened = await composeStore(ground, settings)
  const sessionDoubt = await findSessionDoubt(settings.database)
  if (sessionDoubt !== null) ground.log.warn(sessionDoubt)
  return { database: overrides.store?.(opened) ?? opened, sessionDoubt }
}

async function composeRooms(ground: Ground, settings: ControlPlaneSettings, overrides: ControlPlaneOverrides) {
  const tls = await readTlsFiles(settings.tls)
  await makeFolders(settings)
  const { database, sessionDoubt } = await openDatabase(ground, settings, overrides)
  const ages = await composeAgeLimits(ground, database)
  const audit = composeAudit(ground, settings, { database, ages })
  const { store } = audit.trail // Writes of a request contain its audit record.
  const nodes = await composeNodes(ground, settings, database)
  const live = composeLive(nodes)
  const metrics = createMetrics({
    store,
    clock: ground.clock,
    log: ground.log,
    onlineRunners: () => runners.hub.counts().online,
    nodes: () => nodes.counts(),
  })
  const auth = await composeAuth(ground, settings, {
    store,
    ages,
    meters: metrics.signIn,
    hashCost: overrides.hashCost,
    credentials: { open: (name) => credentials.credentials.open(name) },
  })
  announceFirstAdmin(auth.firstAdmin, process.stderr.isTTY)
  if (auth.firstAdmin === null && settings.admin.password !== null) ground.log.info({}, ADMIN_PASSWORD_UNUSED)
  const { roles, grants, accessTokens } = auth
  const uploads = await composeUploads(ground, settings, { store, ages, freeBytes: overrides.freeBytes })
  const constants = async () => (await roles.current()).constants ?? {}
  const credentials = await composeCredentials(ground, settings, store)
  const { vault, box, encryption } = credentials
  const jobCredentials = credentialsForJobs(credentials.credentials, roles)
  const forms = composeAskingForms(ground, settings, { store, live, constants, credentials: jobCredentials })
  const serviceClock = createServiceClock({ store: database, steady: ground.steady })
  const runners = await composeRunners(ground, settings, {
    store,
    ages,
    live,
    nodes,
    serviceClock,
    box,
    meters: metrics.streams,
    uploads: uploads.folder,
    sealSecrets: createJobSealing(jobCredentials, vault),
    ends: endsOf(() => [sequences.sequences, jobs.limits]),
  })
  // What both launches and child jobs need.
  const forJobs = {
    store,
    live,
    forms: forms.forms,
    grants,
    vault,
    credentials: jobCredentials,
    runners: runners.dispatcher,
    uploads: uploads.folder,
    serviceClock,
    newRunId: () => ground.random(16).toString('hex'),
  }
  const sequences = composeSequences(ground, settings, { ...forJobs, approvedFiles: runners.approvedFiles })
  const { refreshTokenMs } = settings
  const rotation = composeSecretRotation(ground, { store, box, encryption, accessTokens, refreshTokenMs })
  const jobs = composeJobs(ground, settings, {
    ...forJobs,
    ages,
    checks: forms.checks,
    uploadSweeper: uploads.sweeper,
    sequences: sequences.sequences,
    subjects: sequences.subjects,
  })
  const work = { uploads, forms, credentials, rotation, runners, sequences, jobs }
  const rooms = { store, ages, live, nodes, metrics, audit, auth, ...work }
  const timed = composeTimed(ground, settings, rooms)
  const needs = { tls, moreRoutes: overrides.moreRoutes, sessionDoubt }
  const app = await composeApp(ground, settings, { ...rooms, ...timed }, needs)
  // Closed before the server, so that the runners learn why and come back as soon as they can.
  ground.onClose(() => runners.hub.close())
  return { ...rooms, ...timed, app }
}

/** What begins by itself at its time: the launches of schedules, and what is told to others. */
function composeTimed(
  ground: Ground,
  settings: ControlPlaneSettings,
  rooms: Omit<Rooms, 'schedules' | 'notifications'>,
) {
  const { store, ages, nodes, audit, auth, credentials, jobs, metrics } = rooms
  const meter = metrics.notificationTried
  return {
    schedules: composeSchedules(ground, { launching: jobs.launching, roles: auth.roles, trail: audit.trail }),
    notifications: composeNotifications(ground, settings, { store, ages, nodes, box: credentials.box, meter }),
  }
}

/** Tells several parts that jobs have ended. They are built after whoever tells it. */
function endsOf(parts: () => readonly JobEnds[]): JobEnds {
  return {
    jobEnded() {
      for (const part of parts()) part.jobEnded()
    },
  }
}

/** Forms, and what asks other systems for their fields. */
function composeAskingForms(
  ground: Ground,
  settings: ControlPlaneSettings,
  { credentials, ...needs }: Omit<FormNeeds, 'sources'> & { readonly credentials: SourceNeeds['credentials'] },
) {
  const databases = composeDatabases(ground, credentials)
  const sources = composeSources(ground, settings, { credentials, databases })
  return composeForms(ground, settings, { ...needs, sources })
}

async function makeFolders(settings: ControlPlaneSettings): Promise<void> {
  const { database, persistentPath, formsPath, varsFilesPath, workflowsPath, playbooksPath } = settings
  const ours = [persistentPath, ...(database.kind === 'sqlite' ? [dirname(database.path)] : [])]
  for (const folder of ours) await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const folder of [formsPath, varsFilesPath, workflowsPath, playbooksPath])
    await mkdir(folder, { recursive: true })
}

const ADMIN_PASSWORD_UNUSED =
  'ADMIN_PASSWORD counts at the first start only, and there are accounts: holdfast admin reset-password makes a new one'

function announceFirstAdmin(admin: AuthParts['firstAdmin'], mayShowSecrets: boolean): void {
  if (!admin || admin.generatedPassword === null) return
  const { username, generatedPassword: password, passwordFile } = admin
  // Only a person at a terminal is shown the password. What a service manager collects is kept and sent elsewhere.
  process.stderr.write(
    mayShowSecrets
      ? `First start: sign in as '${username}' with the password ${password}\n` +
          `It is also kept in ${passwordFile ?? ''}; change it and remove the file.\n`
      : `First start: sign in as '${username}' with the password in ${passwordFile ?? ''}; change it and remove the file.\n`,
  )
}

function warnOffLoopback({ listenHost: host, tls, trustProxy }: ControlPlaneSettings, log: Logger): void {
  const isLoopback = /^(127\.|::1$|localhost$)/.test(host)
  if (isLoopback || tls || trustProxy) return
  log.warn({ host }, 'listening beyond this machine without TLS: set HTTPS, or TRUST_PROXY behind a proxy that does it')
}
