import { dirname, join, resolve } from 'node:path'
import {
  type SettingDefinition,
  type SettingSources,
  type SettingValue,
  SettingsError,
  resolveSettings,
  tokenSetting,
} from '@holdfast/protocol'
import type { AuditSettings } from './audit/compose.js'
import { SYSLOG_PROTOCOLS, type SyslogPlace } from './audit/syslog.js'
import { SHORTEST_PASSWORD } from './words/password-length.js'
import type { AuthSettings } from './auth/compose.js'
import type { CredentialSettings } from './credentials/compose.js'
import { vaultSettingsOf } from './credentials/hashicorp/settings.js'
import { durationOf } from './time/durations.js'
import { messageOf } from './errors.js'
import type { FormSettings } from './forms/compose.js'
import type { LaunchValidation, UnknownFields } from './forms/form.js'
import type { HttpSettings } from './http/compose.js'
import { trustedProxiesOf } from './http/server/trusted-proxies.js'
import type { JobRoomSettings } from './jobs/compose.js'
import type { NotificationSettings } from './notifications/compose.js'
import { mailSettingsOf } from './notifications/mail-settings.js'
import { readPattern } from './texts/pattern-text.js'
import type { RunnerSettings } from './runners/compose.js'
import type { SequenceSettings } from './sequences/compose.js'
import { CONTROL_PLANE_SETTINGS } from './settings-table.js'
import type { SourceSettings } from './sources/compose.js'
import { parseHostRules } from './sources/address-rules.js'
import type { StoreSettings } from './store/open-store.js'
import type { DatabasePlace } from './store/open-store.js'
import { postgresConfigOf } from './store/postgres/postgres-url.js'
import type { UploadSettings } from './uploads/uploads.js'

/** One of the choices of LOG_LEVEL. */
export type LogLevel = (typeof CONTROL_PLANE_SETTINGS.LOG_LEVEL.choices)[number]

/**
 * The checked settings of the control plane. What each room needs of them stands beside the room, in its `compose.ts`.
 * Paths are absolute, times are in milliseconds, sizes in bytes.
 */
export interface ControlPlaneSettings
  extends
    StoreSettings,
    AuditSettings,
    AuthSettings,
    UploadSettings,
    FormSettings,
    SourceSettings,
    CredentialSettings,
    RunnerSettings,
    SequenceSettings,
    JobRoomSettings,
    NotificationSettings,
    HttpSettings {
  readonly port: number
  readonly listenHost: string
  readonly logLevel: LogLevel
  /** Its level wins; null: there is no such file. */
  readonly logLevelFile: string | null
  readonly logFormat: 'text' | 'json'
}

const MIB = 1024 * 1024
/** What stands for every secret. */
const HIDDEN = '********'
const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Reads every setting of the control plane.
 * @param isTerminal whether the log goes to a terminal
 * @throws SettingsError with one line that names the setting and its allowed values
 */
export function readSettings(sources: SettingSources, isTerminal: boolean): ControlPlaneSettings {
  const raw = resolveSettings(CONTROL_PLANE_SETTINGS, sources)
  const text = (name: SettingName) => String(raw[name])
  const textOrNull = (name: SettingName) => (raw[name] === null ? null : text(name))
  const number = (name: SettingName) => Number(raw[name])
  const path = (name: SettingName) => resolve(text(name))
  const database = databaseOf(text('DATABASE_URL'))
  const secret = (name: 'ACCESS_TOKEN_SECRET' | 'ENCRYPTION_SECRET') => secretOf(name, textOrNull(name), database)
  return Object.freeze({
    port: number('PORT'),
    listenHost: text('LISTEN_HOST'),
    baseUrl: baseUrlOf(text('BASE_URL')),
    publicUrl: publicUrlOf(textOrNull('PUBLIC_URL')),
    tls: tlsOf(raw),
    trustProxy: trustedProxiesOf(text('TRUST_PROXY')),
    web: raw.WEB === true,
    persistentPath: path('PERSISTENT_PATH'),
    formsPath: path('FORMS_FOLDER_PATH'),
    configPath: path('CONFIG_PATH'),
    varsFilesPath: path('VARS_FILES_PATH'),
    workflowsPath: path('WORKFLOWS_PATH'),
    credentialsPath: join(dirname(path('CONFIG_PATH')), 'credentials.yaml'),
    playbooksPath: path('ANSIBLE_PATH'),
    uploadPath: path('UPLOAD_PATH'),
    database,
    accessTokenSecret: secret('ACCESS_TOKEN_SECRET'),
    encryptionSecret: secret('ENCRYPTION_SECRET'),
    accessTokenSecretPrevious: longEnough(
      'ACCESS_TOKEN_SECRET_PREVIOUS',
      textOrNull('ACCESS_TOKEN_SECRET_PREVIOUS'),
      16,
    ),
    encryptionSecretPrevious: longEnough('ENCRYPTION_SECRET_PREVIOUS', textOrNull('ENCRYPTION_SECRET_PREVIOUS'), 16),
    accessTokenMs: durationOf('ACCESS_TOKEN_EXPIRATION', text('ACCESS_TOKEN_EXPIRATION')),
    refreshTokenMs: durationOf('ACCESS_TOKEN_REFRESH_EXPIRATION', text('ACCESS_TOKEN_REFRESH_EXPIRATION')),
    sessionMaxMs: durationOf('SESSION_MAX_AGE', text('SESSION_MAX_AGE')),
    authRateLimit: number('AUTH_RATE_LIMIT'),
    apiTokenMaxDays: number('API_TOKEN_MAX_DAYS'),
    admin: {
      username: text('ADMIN_USERNAME'),
      password: longEnough('ADMIN_PASSWORD', textOrNull('ADMIN_PASSWORD'), SHORTEST_PASSWORD),
    },
    launchValidation: launchValidationOf(text('LAUNCH_VALIDATION')),
    unknownFields: text('LAUNCH_UNKNOWN_FIELDS') as UnknownFields,
    formFilesPath: path('FORM_FILES_PATH'),
    formFunctionsPath: path('FORM_FUNCTIONS_PATH'),
    restAddresses: restAddressesOf(raw),
    formSsh: formSshOf(raw),
    sourceLimitMs: number('SOURCE_TIMEOUT_SECONDS') * 1000,
    hashicorpVault: vaultSettingsOf(raw),
    formsLocale: localeOf(textOrNull('FORMS_LOCALE')),
    jobsListSize: number('JOBS_LIST_SIZE'),
    maskExtravars: patternOf('MASK_EXTRAVARS_REGEX', text('MASK_EXTRAVARS_REGEX')),
    eventStreamsPerSession: number('EVENT_STREAMS_PER_SESSION'),
    bodyLimitBytes: number('API_BODY_LIMIT_MB') * MIB,
    uploadMaxBytes: number('UPLOAD_MAX_GB') * 1024 * MIB,
    uploadQuotas: {
      ofUser: number('UPLOAD_USER_MAX_GB') * 1024 * MIB,
      ofAll: number('UPLOAD_TOTAL_MAX_GB') * 1024 * MIB,
    },
    maxOutputBytes: number('PROCESS_MAX_BUFFER_MB') * MIB,
    maxEventsBytes: number('JOB_EVENTS_MAX_MB') * MIB,
    maxEvents: number('JOB_EVENTS_MAX'),
    jobRetentionMs: number('JOB_RETENTION_DAYS') * DAY_MS || null,
    auditRetentionMs: number('AUDIT_RETENTION_DAYS') * DAY_MS || null,
    auditReads: raw.AUDIT_READS === true,
    auditFile: raw.AUDIT_FILE === null ? null : path('AUDIT_FILE'),
    auditSyslog: syslogOf(textOrNull('AUDIT_SYSLOG')),
    ...notificationSettingsOf(raw),
    metricsToken: tokenSetting('METRICS_TOKEN', textOrNull('METRICS_TOKEN')),
    runnerQueueMs: number('RTE_QUEUE_MINUTES') * 60_000,
    runnerFilesMaxBytes: number('RTE_FILES_MAX_MB') * MIB,
    runnerLostMs: number('RTE_LOST_SECONDS') * 1000,
    runnerHeartbeatMs: number('RTE_HEARTBEAT_SECONDS') * 1000,
    logLevel: raw.LOG_LEVEL as LogLevel,
    logLevelFile: raw.LOG_LEVEL_FILE === null ? null : path('LOG_LEVEL_FILE'),
    logFormat: (raw.LOG_FORMAT ?? (isTerminal ? 'text' : 'json')) as 'text' | 'json',
    settingsInForce: settingsInForce(raw, sources),
  })
}

/** Every setting as admins may read it. A secret leaves here only as the word that it is there. */
function settingsInForce(
  raw: Readonly<Record<string, SettingValue>>,
  { environment, flags }: SettingSources,
): HttpSettings['settingsInForce'] {
  return Object.entries<SettingDefinition>(CONTROL_PLANE_SETTINGS).map(([name, { meaning, secret = false }]) => {
    const value = raw[name] ?? null
    const from = [flags[name], environment[name], ...(secret ? [environment[`${name}_FILE`]] : [])]
    return {
      name,
      value: value === null ? null : secret ? HIDDEN : shownValue(value),
      secret,
      given: from.some((text) => text !== undefined && text !== ''),
      meaning,
    }
  })
}

function shownValue(value: string | number | boolean): string {
  return typeof value === 'boolean' ? (value ? '1' : '0') : String(value)
}

type SettingName = keyof typeof CONTROL_PLANE_SETTINGS

function baseUrlOf(text: string): string {
  if (/^\/[A-Za-z0-9._~/-]*$/.test(text)) return text
  throw new SettingsError(`BASE_URL: must be a path such as / or /holdfast, not ${JSON.stringify(text)}`)
}

function restAddressesOf(raw: Readonly<Record<string, SettingValue>>): ControlPlaneSettings['restAddresses'] {
  const rulesOf = (name: SettingName) => hostRulesOf(name, raw[name] === null ? null : String(raw[name]))
  return { allowed: rulesOf('REST_ALLOWED_HOSTS'), denied: rulesOf('REST_DENIED_HOSTS') }
}

/** `publicUrl` is read with the settings of the web server. */
function notificationSettingsOf(raw: Readonly<Record<string, SettingValue>>): Omit<NotificationSettings, 'publicUrl'> {
  const [allowed, denied] = ['WEBHOOK_ALLOWED_HOSTS', 'WEBHOOK_DENIED_HOSTS'] as const
  const rulesOf = (name: SettingName) => hostRulesOf(name, raw[name] === null ? null : String(raw[name]))
  return {
    webhookAddresses: {
      allowed: rulesOf(allowed),
      denied: rulesOf(denied),
      words: { allowed, denied, who: 'webhooks' },
    },
    mail: mailSettingsOf(raw),
    notificationRunnerLostMs: Number(raw.NOTIFICATION_RUNNER_LOST_SECONDS) * 1000,
    notificationRetentionMs: Number(raw.NOTIFICATION_RETENTION_DAYS) * DAY_MS || null,
  }
}

function hostRulesOf(name: SettingName, text: string | null): ReturnType<typeof parseHostRules> {
  try {
    return parseHostRules(text ?? '')
  } catch (error) {
    throw new SettingsError(`${name}: ${messageOf(error)}`)
  }
}

function formSshOf(raw: ReturnType<typeof resolveSettings>): ControlPlaneSettings['formSsh'] {
  const { FORM_SSH_HOSTS: hosts, FORM_SSH_CREDENTIAL: credential, FORM_SSH_KNOWN_HOSTS: knownHosts } = raw
  return {
    hosts: hostRulesOf('FORM_SSH_HOSTS', hosts === null ? null : String(hosts)),
    credential: credential === null ? null : String(credential),
    knownHosts: resolve(String(knownHosts)),
  }
}

function publicUrlOf(text: string | null): string | null {
  if (text === null) return null
  const url = URL.canParse(text) ? new URL(text) : null
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (url && isWeb && url.username === '' && url.search === '' && url.hash === '') return url.href.replace(/\/+$/, '')
  throw new SettingsError(
    `PUBLIC_URL: must be an address such as https://jobs.example.com, not ${JSON.stringify(text)}`,
  )
}

function syslogOf(text: string | null): SyslogPlace | null {
  if (text === null) return null
  const [, name, host, bareHost, port] =
    /^(udp|tcp|tls):\/\/(?:\[([^\]/]+)\]|([^:/[\]]+)):(\d{1,5})\/?$/.exec(text) ?? []
  const protocol = SYSLOG_PROTOCOLS.find((known) => known === name)
  if (protocol && Number(port) > 0 && Number(port) < 65_536) {
    return { protocol, host: host ?? bareHost ?? '', port: Number(port) }
  }
  throw new SettingsError(
    `AUDIT_SYSLOG: must be udp://host:port, tcp://host:port or tls://host:port, not ${JSON.stringify(text)}`,
  )
}

function tlsOf(raw: Readonly<Record<string, SettingValue>>): ControlPlaneSettings['tls'] {
  if (raw.HTTPS !== true) return null
  for (const name of ['HTTPS_CERT', 'HTTPS_KEY']) {
    if (raw[name] === null) throw new SettingsError(`${name}: is needed when HTTPS is on`)
  }
  return { certPath: resolve(String(raw.HTTPS_CERT)), keyPath: resolve(String(raw.HTTPS_KEY)) }
}

/** The value may hold a password, so the message does not quote it. */
function databaseOf(url: string): DatabasePlace {
  if (/^postgres(ql)?:/.test(url)) {
    try {
      postgresConfigOf(url)
    } catch (error) {
      throw new SettingsError(`DATABASE_URL: ${error instanceof Error ? error.message : 'is not readable'}`)
    }
    return { kind: 'postgres', url }
  }
  const path = /^sqlite:(.+)$/.exec(url)?.[1]
  if (path === undefined) throw new SettingsError('DATABASE_URL: must be sqlite:<file> or postgres://…')
  return { kind: 'sqlite', path: resolve(path) }
}

/**
 * With SQLite, the service makes the secret and stores it. Nodes that share a database all need the same secret, so it
 * must be a setting.
 */
function secretOf(name: string, value: string | null, database: DatabasePlace): string | null {
  if (value === null && database.kind === 'postgres') {
    throw new SettingsError(`${name}: is required with PostgreSQL, and must be the same at every node`)
  }
  return longEnough(name, value, 16)
}

function longEnough(name: string, value: string | null, minimum: number): string | null {
  if (value === null || value.length >= minimum) return value
  throw new SettingsError(`${name}: must have at least ${minimum} characters`)
}

/** @throws SettingsError for a locale that Node.js does not have */
function localeOf(text: string | null): string | null {
  if (text === null) return null
  try {
    const [known] = Intl.DateTimeFormat.supportedLocalesOf(text)
    if (known !== undefined) return known
  } catch {
    // The text is not even the name of a locale.
  }
  throw new SettingsError(`FORMS_LOCALE: ${JSON.stringify(text)} is no locale that this Node.js has`)
}

function launchValidationOf(text: string): LaunchValidation {
  const lower = text.toLowerCase()
  return lower === 'off' || lower === 'log' ? lower : 'enforce'
}

function patternOf(name: string, text: string): RegExp {
  try {
    return readPattern(text, 'i')
  } catch (error) {
    throw new SettingsError(`${name}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
