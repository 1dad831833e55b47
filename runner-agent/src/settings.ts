import {
  type SettingDefinition,
  type SettingSources,
  SettingsError,
  fingerprintInToken,
  fingerprintSchema,
  firstIssue,
  imageNameSchema,
  resolveSettings,
  runnerNameSchema,
} from '@holdfast/protocol'
import { resolve } from 'node:path'
import * as v from 'valibot'
import type { IsolationSettings } from './isolation/isolation.js'
import { readUserList } from './isolation/user-list.js'
import { proxyFor } from './link/proxy.js'
import type { ContainerSettings } from './playbook/container.js'
import { readPassedNames } from './playbook/passed-environment.js'
import { RUNNER_AGENT_SETTINGS } from './settings-table.js'

const MEBIBYTE = 1024 * 1024

const httpAddress = v.check<string, string>(
  (text) => ['http:', 'https:'].includes(protocolOf(text)),
  'must be an http:// or https:// address',
)
const APP_URL_NEEDED = 'is required: the address of the control plane, such as https://forms.example.com'
const appUrlSchema = v.pipe(v.string(APP_URL_NEEDED), httpAddress)

const resolvedSchema = v.object({
  RTE_MODE: v.picklist(['outbound', 'inbound']),
  RTE_INBOUND_HOST: v.string(),
  RTE_INBOUND_PORT: v.number(),
  APP_URL: v.nullable(appUrlSchema),
  APP_TLS_VERIFY: v.boolean(),
  HTTPS_PROXY: v.nullable(v.pipe(v.string(), httpAddress)),
  NO_PROXY: v.nullable(v.string()),
  RTE_NAME: runnerNameSchema,
  RTE_JOIN_TOKEN: v.nullable(
    v.pipe(
      v.string(),
      v.maxLength(200, 'is longer than a join token can be'),
      v.regex(/^[\x21-\x7e]+$/, 'is no join token: those are one word of printable ASCII signs, without blanks'),
    ),
  ),
  RTE_SERVICE_FINGERPRINT: v.nullable(fingerprintSchema),
  RTE_STATE_PATH: v.string(),
  RTE_MAX_JOBS: v.number(),
  RTE_DRAIN_SECONDS: v.number(),
  RTE_ON_STOP: v.picklist(['detach', 'terminate']),
  RTE_FILES: v.picklist(['transfer', 'local']),
  RTE_FILES_UMASK: v.pipe(
    v.string(),
    v.regex(/^0*[0-7]{1,2}$/, 'must be octal digits from 000 to 077: the owner loses nothing'),
  ),
  ANSIBLE_PATH: v.nullable(v.string()),
  RTE_PASS_ENVIRONMENT: v.nullable(v.string()),
  RTE_PYTHON: v.nullable(v.string()),
  RTE_GALAXY: v.picklist(['off', 'on']),
  RTE_GALAXY_MINUTES: v.pipe(v.number(), v.minValue(1, 'must be 1 or more')),
  RTE_EXECUTION: v.picklist(['host', 'podman']),
  RTE_EXECUTION_IMAGE: v.nullable(imageNameSchema),
  RTE_EXECUTION_OPTIONS: v.nullable(v.string()),
  RTE_ISOLATION: v.picklist(['none', 'user']),
  RTE_ISOLATION_USERS: v.nullable(v.string()),
  RTE_ISOLATION_SUDO: v.boolean(),
  RTE_ISOLATION_HOME: v.nullable(v.string()),
  RTE_CACHE_MB: v.number(),
  RTE_SPOOL_MAX_MB: v.number(),
  RTE_KEEP_ENDED_MINUTES: v.number(),
  PORT: v.number(),
  LISTEN_HOST: v.string(),
  LOG_LEVEL: v.string(),
  LOG_FORMAT: v.picklist(['text', 'json']),
})

/** The settings as the agent's parts use them: checked, typed, sizes in bytes, paths absolute. */
export interface AgentSettings {
  /** The control plane to dial; null: it dials this agent. */
  readonly appUrl: URL | null
  /** Where the control plane dials this agent; used only when there is nothing to dial. */
  readonly inbound: { readonly host: string; readonly port: number }
  readonly tlsVerify: boolean
  /** The proxy to dial through; null for the direct way. Its address may hold a password. */
  readonly proxy: URL | null
  readonly name: string
  readonly joinToken: string | null
  /** Fingerprint of the control plane's key, from the settings or the join token; null: neither has it. */
  readonly serviceFingerprint: string | null
  readonly statePath: string
  readonly maxJobs: number
  readonly drainSeconds: number
  readonly onStop: 'detach' | 'terminate'
  /** Permission bits that playbook files lose on this host; null when they are on this host already. */
  readonly filesUmask: number | null
  /** The local playbook folder, or null when the control plane sends the files. */
  readonly localFolder: string | null
  /** More variables of the agent's environment that playbooks get: names, and beginnings of names with `*`. */
  readonly passEnvironment: readonly string[]
  /** The Python that the operator names for supervisors; null: it is looked for. */
  readonly python: string | null
  /** How long an installation of requirements may take, in seconds; null: nothing is installed. */
  readonly galaxySeconds: number | null
  /** How playbooks run in containers; null: they run on the host itself. */
  readonly container: ContainerSettings | null
  /** How jobs are kept apart; null when they are not. */
  readonly isolation: IsolationSettings | null
  readonly cacheBytes: number
  readonly spoolMaxBytes: number
  /** How long the output of ended jobs is kept, in milliseconds; 0: not at all. */
  readonly keepEndedMs: number
  readonly port: number
  readonly listenHost: string
  readonly logLevel: string
  readonly logFormat: 'text' | 'json'
}

/**
 * Reads and checks all settings; paths are resolved against `folder`.
 * @throws SettingsError with one line that names the setting
 */
export function readSettings(sources: SettingSources, folder: string): AgentSettings {
  const environment = withLowerCase(sources.environment)
  const resolved = resolveSettings(RUNNER_AGENT_SETTINGS, { ...sources, environment })
  const result = v.safeParse(resolvedSchema, resolved, { abortEarly: true })
  // The path of an issue is the name of the setting. It begins the sentence.
  if (!result.success) throw new SettingsError(firstIssue(result.issues))
  const given = result.output
  if (given.RTE_FILES === 'local' && given.ANSIBLE_PATH === null) {
    throw new SettingsError('ANSIBLE_PATH: is required with RTE_FILES=local')
  }
  const appUrl = appUrlOf(given)
  const serviceFingerprint =
    given.RTE_SERVICE_FINGERPRINT ?? (given.RTE_JOIN_TOKEN === null ? null : fingerprintInToken(given.RTE_JOIN_TOKEN))
  // Anybody who reaches the port may dial. So the runner must know beforehand which control plane to obey.
  if (appUrl === null && serviceFingerprint === null) {
    throw new SettingsError('RTE_SERVICE_FINGERPRINT: is required with RTE_MODE=inbound, or a join token that names it')
  }
  return Object.freeze({
    appUrl,
    inbound: { host: given.RTE_INBOUND_HOST, port: given.RTE_INBOUND_PORT },
    proxy:
      appUrl === null
        ? null
        : proxyFor(appUrl, given.HTTPS_PROXY === null ? null : new URL(given.HTTPS_PROXY), given.NO_PROXY),
    tlsVerify: given.APP_TLS_VERIFY,
    name: given.RTE_NAME,
    joinToken: given.RTE_JOIN_TOKEN,
    serviceFingerprint,
    statePath: resolve(folder, given.RTE_STATE_PATH),
    maxJobs: given.RTE_MAX_JOBS,
    drainSeconds: given.RTE_DRAIN_SECONDS,
    onStop: given.RTE_ON_STOP,
    filesUmask: given.RTE_FILES === 'local' ? null : Number.parseInt(given.RTE_FILES_UMASK, 8),
    localFolder: given.RTE_FILES === 'local' && given.ANSIBLE_PATH ? resolve(folder, given.ANSIBLE_PATH) : null,
    passEnvironment: readPassedNames(given.RTE_PASS_ENVIRONMENT),
    python: given.RTE_PYTHON,
    galaxySeconds: given.RTE_GALAXY === 'on' ? given.RTE_GALAXY_MINUTES * 60 : null,
    container: containerOf(given),
    isolation: isolationOf(given, folder),
    cacheBytes: given.RTE_CACHE_MB * MEBIBYTE,
    spoolMaxBytes: given.RTE_SPOOL_MAX_MB * MEBIBYTE,
    keepEndedMs: given.RTE_KEEP_ENDED_MINUTES * 60_000,
    port: given.PORT,
    listenHost: given.LISTEN_HOST,
    logLevel: given.LOG_LEVEL,
    logFormat: given.LOG_FORMAT,
  })
}

/** The address to dial; null: the agent does not dial. @throws SettingsError */
function appUrlOf({ RTE_MODE, APP_URL }: v.InferOutput<typeof resolvedSchema>): URL | null {
  if (RTE_MODE === 'inbound') return null
  if (APP_URL === null) throw new SettingsError(`APP_URL: ${APP_URL_NEEDED}`)
  return new URL(APP_URL)
}

function containerOf(given: v.InferOutput<typeof resolvedSchema>): ContainerSettings | null {
  if (given.RTE_EXECUTION === 'host') return null
  // A container has its own users and its own roles and collections.
  if (given.RTE_ISOLATION !== 'none') throw new SettingsError('RTE_ISOLATION: must be none with RTE_EXECUTION=podman')
  if (given.RTE_GALAXY !== 'off') throw new SettingsError('RTE_GALAXY: must be off with RTE_EXECUTION=podman')
  const options = (given.RTE_EXECUTION_OPTIONS ?? '').split(/\s+/).filter((option) => option !== '')
  return { image: given.RTE_EXECUTION_IMAGE, options }
}

function isolationOf(given: v.InferOutput<typeof resolvedSchema>, folder: string): IsolationSettings | null {
  if (given.RTE_ISOLATION === 'none') return null
  if (given.RTE_ISOLATION_USERS === null) {
    throw new SettingsError('RTE_ISOLATION_USERS: is required with RTE_ISOLATION=user')
  }
  return {
    users: readUserList(given.RTE_ISOLATION_USERS),
    sudo: given.RTE_ISOLATION_SUDO,
    home: given.RTE_ISOLATION_HOME === null ? null : resolve(folder, given.RTE_ISOLATION_HOME),
  }
}

/** A variable that looks like a setting but is none, and the setting that the operator may have meant. */
export interface UnknownSetting {
  readonly name: string
  readonly meant: string | null
}

/** Variables of the environment that begin like settings of the agent but are none. Mostly they are typing mistakes. */
export function unknownSettings(environment: SettingSources['environment']): UnknownSetting[] {
  const known = Object.entries(RUNNER_AGENT_SETTINGS).flatMap(([name, { secret }]: [string, SettingDefinition]) =>
    secret ? [name, `${name}_FILE`] : [name],
  )
  const plain = (name: string): string => name.replaceAll('_', '').toUpperCase()
  return (
    Object.keys(environment)
      .filter((name) => !known.includes(name))
      .map((name) => ({ name, meant: known.find((each) => plain(each) === plain(name)) ?? null }))
      // Names like APP_ENV belong to others, and proxies are set in lower case, too.
      .filter(({ name, meant }) => name.startsWith('RTE_') || (meant !== null && name.startsWith('APP_')))
  )
}

/** The state folder alone, for commands that need nothing else. */
export function readStatePath(sources: SettingSources, folder: string): string {
  const { RTE_STATE_PATH } = resolveSettings({ RTE_STATE_PATH: RUNNER_AGENT_SETTINGS.RTE_STATE_PATH }, sources)
  return resolve(folder, String(RTE_STATE_PATH))
}

/** What a command needs that runs a Python beside the state folder. */
export function readMoveSettings(sources: SettingSources, folder: string): Pick<AgentSettings, 'statePath' | 'python'> {
  const { RTE_PYTHON } = resolveSettings({ RTE_PYTHON: RUNNER_AGENT_SETTINGS.RTE_PYTHON }, sources)
  return { statePath: readStatePath(sources, folder), python: RTE_PYTHON === null ? null : String(RTE_PYTHON) }
}

/** Proxies are set in lower case as often as in upper case. */
function withLowerCase(environment: SettingSources['environment']): SettingSources['environment'] {
  return {
    ...environment,
    HTTPS_PROXY: environment.HTTPS_PROXY ?? environment.https_proxy,
    NO_PROXY: environment.NO_PROXY ?? environment.no_proxy,
  }
}

function protocolOf(text: string): string {
  try {
    return new URL(text).protocol
  } catch {
    return ''
  }
}
