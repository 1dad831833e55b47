import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openBlobCache } from './files/blob-cache.js'
import { openUploadStore } from './files/upload-store.js'
import { createHealthServer } from './health.js'
import { loadIdentity } from './identity/identity.js'
import { ABORT_PATIENCE } from './jobs/decide.js'
import { type Isolation, type IsolationHost, isolationWord, openIsolation, releaseUser } from './isolation/isolation.js'
import { createHostJobs } from './jobs/host-jobs.js'
import { createOwnership } from './jobs/ownership.js'
import { createKeyring } from './identity/keyring.js'
import { socketAddress, transportDoubt } from './link/address.js'
import { createBackOff } from './link/back-off.js'
import { createHandshake } from './link/handshake.js'
import { createHello } from './link/hello.js'
import { createLink } from './link/link.js'
import { describeError, type Logger } from './log.js'
import { createApprovalWatch, type ApprovalWatch } from './approval-watch.js'
import { ANSIBLE_PARTS, readVersion } from './package-info.js'
import { readAnsibleVersion } from './playbook/ansible-version.js'
import type { HostPython } from './playbook/host-python.js'
import { findProgram } from './playbook/plan.js'
import { watchPython } from './playbook/python-watch.js'
import type { GalaxySettings } from './playbook/requirements.js'
import { createSecretsOpener } from './playbook/secrets.js'
import { openSocketFolders } from './playbook/socket-folders.js'
import { readBootId } from './host/processes.js'
import type { AgentSettings } from './settings.js'
import { openDescriptorReserve } from './host/descriptor-reserve.js'
import { watchDisk } from './spool/disk-watch.js'
import { openSpool } from './spool/spool.js'
import { acquireStateLock } from './spool/state-lock.js'
import { createSupervisorWatch } from './spool/supervisor-watch.js'
import { openTrust } from './identity/trust.js'

/** What an agent gets from outside beside its settings, so that a test can give its own. */
export interface AgentDependencies {
  readonly log: Logger
  readonly now: () => Date
  readonly random: () => number
  /** What playbooks inherit, without what configures Holdfast. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** @throws Error when no Python runs on this host at all */
  readonly findPython: () => Promise<HostPython>
}

/** A running agent. */
export interface Agent {
  readonly fingerprint: string
  /** Takes no new jobs and waits for those that run, as long as the settings say; then ends or leaves them. */
  stop(): Promise<void>
  /** Ends at once and leaves running playbooks as they are. */
  kill(): Promise<void>
}

const SHORTEST_BACK_OFF_MS = 500
const LONGEST_BACK_OFF_MS = 30_000
/** After an order to end all jobs: the supervisor's own ladder and some time to write the ends. */
const TERMINATE_MS = 25_000
/** How long a stopping agent waits for the control plane to store what has ended. */
const STORE_MS = 2_000
const LOOK_MS = 50
/** Until a spool that could not be read is tried again. */
const LOAD_AGAIN_MS = 1_000

/**
 * Builds an agent from its parts and starts it.
 * @throws StateInUseError; an error of the state folder
 */
export async function startAgent(settings: AgentSettings, dependencies: AgentDependencies): Promise<Agent> {
  const { log, now, environment } = dependencies
  const identity = await loadIdentity(settings.statePath)
  const { fingerprint } = identity
  const python = await watchPython(dependencies.findPython, log)
  const lockProgram = { python: python.now.path, script: ANSIBLE_PARTS.locks }
  const stateLock = await acquireStateLock(settings.statePath, lockProgram)
  log.info({ name: settings.name, fingerprint, state: settings.statePath }, 'agent starts')
  const doubt = transportDoubt(settings.appUrl, settings.tlsVerify)
  if (doubt !== null) log.warn(doubt)
  if (stateLock.doubt !== null) log.warn(stateLock.doubt)
  const supervisors = createSupervisorWatch({ program: lockProgram, log })

  const descriptors = openDescriptorReserve(log)
  const spool = openSpool(settings.statePath, log)
  const cache = await openBlobCache(settings.statePath, settings.cacheBytes)
  const uploadStore = openUploadStore(settings.statePath)
  const isolationHost = isolationHostOf(settings, environment, python.now.path)
  let isolation: Isolation = { kind: 'unavailable', problem: 'it was not tried yet' }
  const disk = await watchDisk({
    statePath: settings.statePath,
    async prepare() {
      await stateLock.keep()
      for (const part of [spool, cache, uploadStore]) await part.prepare()
      // It looks at folders that are made only now; and later it may have been the disk that was in its way.
      if (isolation.kind === 'unavailable') isolation = await openIsolation(settings.isolation, isolationHost, log)
    },
    log,
  })
  if (disk.problem !== null) isolation = await openIsolation(settings.isolation, isolationHost, log)
  /** What a person has to mend on this host before any job is taken. */
  const hostProblem = (): string | null =>
    python.now.problem ?? (isolation.kind === 'unavailable' ? isolation.problem : null)
  let loadProblem: string | null = null
  const trust = openTrust({ statePath: settings.statePath, given: settings.serviceFingerprint, now, log })
  const hostJobs = createHostJobs({
    log,
    ownership: createOwnership(trust),
    now,
    bootId: readBootId(),
    spool,
    cache,
    uploadStore,
    playbook: {
      localFolder: settings.localFolder,
      get environment() {
        return withLocale(environment, python.now.locale)
      },
      get pythonProblem() {
        return python.now.problem
      },
      passEnvironment: settings.passEnvironment,
      callbackFolder: ANSIBLE_PARTS.callbackFolder,
      get isolation() {
        return isolation
      },
      sockets: openSocketFolders(settings.statePath, log),
      galaxy: galaxyOf(settings),
      get python() {
        return python.now.path
      },
    },
    releaseUser: (jobFolder) => releaseUser(jobFolder, isolationHost),
    supervisors,
    patience: ABORT_PATIENCE,
    after(milliseconds, task) {
      const timer = setTimeout(task, milliseconds).unref()
      return () => {
        clearTimeout(timer)
      }
    },
    supervisor: {
      get python() {
        return python.now.path
      },
      script: ANSIBLE_PARTS.supervisor,
    },
    openSecrets: createSecretsOpener(() => keyring.openers()),
    ownMaxJobs: settings.maxJobs,
    mostJobs: () => (isolation.kind === 'user' ? isolation.orders.users.length : 0),
    problem: hostProblem,
    hostProblem() {
      if (disk.problem !== null) return { code: 'spool_full', message: disk.problem }
      return descriptors.problem === null ? null : { code: 'busy', message: descriptors.problem }
    },
    spoolMaxBytes: settings.spoolMaxBytes,
    changed: () => {
      approvalWatch.sendStatus()
    },
  })
  const keyring = createKeyring(identity, {
    ...{ statePath: settings.statePath, log },
    isIdle: () =>
      hostJobs.figures().spooledJobs + hostJobs.figures().runningJobs + hostJobs.figures().claimingJobs === 0,
  })
  const approvalWatch: ApprovalWatch = createApprovalWatch({
    ...{ hostJobs, trust, name: settings.name, fingerprint, now, log },
    problem: () => hostProblem() ?? disk.problem ?? descriptors.problem ?? loadProblem,
    hasJoinToken: settings.joinToken !== null,
  })
  let ansibleVersion: string | null = null
  const { name, joinToken } = settings
  const hello = createHello({
    ...{ generation: stateLock.generation, instance: stateLock.instance, name, joinToken, now },
    maxJobs: hostJobs.figures().maxJobs,
    isolation: () => isolationWord(isolation),
    version: readVersion(),
    ansibleVersion: () => ansibleVersion,
  })
  const link = createLink(
    {
      address: socketAddress(settings.appUrl),
      tlsVerify: settings.tlsVerify,
      proxy: settings.proxy,
      prepare: () => keyring.prepare(),
      handshake: () => createHandshake({ identity: keyring.dial(), trust, hello }),
    },
    createBackOff({ shortestMs: SHORTEST_BACK_OFF_MS, longestMs: LONGEST_BACK_OFF_MS, random: dependencies.random }),
    {
      ...approvalWatch.events,
      up(welcome, connection) {
        void keyring.welcomed()
        approvalWatch.events.up(welcome, connection)
      },
      heartbeat(connection) {
        approvalWatch.events.heartbeat(connection)
        void keyring.prepare().then(() => {
          if (keyring.isNextWaiting) connection.close('going_away', 'new keys are shown at the next connection')
        })
      },
    },
    log,
  )
  const health = createHealthServer({
    notReady: () => {
      const { trouble } = hostJobs.figures()
      return approvalWatch.notReady() ?? (trouble === null ? null : { problem: trouble })
    },
    isolation: () => isolationWord(isolation),
    figures: () => ({
      ...hostJobs.figures(),
      approved: approvalWatch.state === 'approved',
      connects: link.connects,
      isServiceRefused: trust.refused !== null,
      cacheBytes: cache.bytes(),
    }),
  })

  let ending: Promise<void> | null = null
  const end = (): Promise<void> =>
    (ending ??= (async () => {
      await link.close()
      await hostJobs.dispose()
      await spool.close()
      await disk.close()
      await health.close()
      supervisors.close()
      python.close()
      descriptors.close()
      stateLock.close()
    })())

  /** Waits until something is so, for a while, or until the agent is ended anyway. */
  const until = async (isSo: () => boolean, milliseconds: number): Promise<void> => {
    const last = performance.now() + milliseconds
    while (!isSo() && ending === null && performance.now() < last) await delay(LOOK_MS)
  }

  const drain = async (): Promise<void> => {
    const isIdle = (): boolean => hostJobs.figures().runningJobs + hostJobs.figures().claimingJobs === 0
    hostJobs.drain()
    log.info({ running: hostJobs.figures().runningJobs, wait_seconds: settings.drainSeconds }, 'agent stops')
    await until(isIdle, settings.drainSeconds * 1000)
    if (!isIdle() && settings.onStop === 'terminate') {
      hostJobs.abortAll()
      await until(isIdle, TERMINATE_MS)
    }
    if (!isIdle())
      log.info({ running: hostJobs.figures().runningJobs }, 'playbooks go on; the next start takes them up again')
    await until(() => !isIdle() || approvalWatch.state !== 'approved' || hostJobs.figures().spooledJobs === 0, STORE_MS)
  }

  /** Without the list of its jobs the agent must not say hello: they would be taken for lost. */
  const load = async (): Promise<void> => {
    while (ending === null) {
      try {
        await hostJobs.load()
        loadProblem = null
        return
      } catch (error) {
        loadProblem = `the spool cannot be read: ${describeError(error)}`
        log.error({ problem: loadProblem }, 'the agent waits for its spool')
        await delay(LOAD_AGAIN_MS)
      }
    }
  }

  try {
    await health.keepListening(settings.listenHost, settings.port, log, (port) => {
      log.info({ address: `http://${settings.listenHost}:${port}` }, 'probes are answered here')
    })
    // A job that was sealed to them may be in the spool.
    await keyring.prepare()
    await Promise.all([load(), readAnsibleVersion(environment).then((version) => (ansibleVersion = version))])
    if (ansibleVersion === null) log.warn('ansible-playbook was not found or does not answer; jobs will fail')
    link.start()
    return {
      fingerprint,
      async stop() {
        await drain()
        await end()
      },
      kill: end,
    }
  } catch (error) {
    await end()
    throw error
  }
}

function galaxyOf({ galaxySeconds: seconds, statePath }: AgentSettings): GalaxySettings | null {
  if (seconds === null) return null
  return { cache: join(statePath, 'cache', 'galaxy'), seconds, script: ANSIBLE_PARTS.requirements }
}

/** An agent without a locale that ansible takes gives its playbooks one. */
function withLocale(environment: AgentDependencies['environment'], locale: string | null): typeof environment {
  return locale === null ? environment : { ...environment, LC_ALL: locale }
}

function isolationHostOf(
  settings: AgentSettings,
  environment: AgentDependencies['environment'],
  python: string,
): IsolationHost {
  return {
    python,
    script: ANSIBLE_PARTS.isolation,
    statePath: settings.statePath,
    read: [ANSIBLE_PARTS.callbackFolder, ...(settings.localFolder === null ? [] : [settings.localFolder])],
    run: ansibleOn(environment.PATH),
  }
}

/** Where ansible is; nothing when it is not here, which every job is told. */
function ansibleOn(path: string | undefined): string[] {
  try {
    return [findProgram('ansible-playbook', path)]
  } catch {
    return []
  }
}
