import { randomInt } from 'node:crypto'
import { createPartsOwner } from '@holdfast/host/parts-owner'
import { type ApprovalWatch, createApprovalWatch } from './approval-watch.js'
import { drain } from './drain.js'
import { openBlobCache } from './files/blob-cache.js'
import { openUploadStore } from './files/upload-store.js'
import { type Environment, type Ground, systemAfter } from './ground.js'
import { createHealthServer } from './health.js'
import { openDescriptorReserve } from './host/descriptor-reserve.js'
import { loadIdentity } from './identity/identity.js'
import { createKeyring } from './identity/keyring.js'
import { openTrust } from './identity/trust.js'
import { composeIsolation } from './isolation/compose.js'
import { composeJobs } from './jobs/compose.js'
import type { HostJobs } from './jobs/host-jobs.js'
import { composeLink } from './link/compose.js'
import { createLog, type Logger } from './log.js'
import { readVersion } from './package-info.js'
import { composePlaybook, composePython, playbookAccess } from './playbook/compose.js'
import { findHostPython, type HostPython } from './playbook/host-python.js'
import { createSecretsOpener } from './playbook/secrets.js'
import { createRuntime } from './runtime/runtime.js'
import type { AgentSettings } from './settings.js'
import { composeDisk, composeMovedState, composeSpool, composeState } from './spool/compose.js'

/** What a test may replace: things that belong to the host and the moment, never a part of the agent. */
export interface AgentOverrides {
  readonly log?: Logger
  readonly now?: () => Date
  readonly random?: () => number
  /** The environment variables of the agent. */
  readonly environment?: Environment
  /** @throws Error when no Python runs on this host at all */
  readonly findPython?: () => Promise<HostPython>
}

/** The parts of an agent, wired; nothing listens or dials yet. */
export type AgentParts = Awaited<ReturnType<typeof composeRooms>> & {
  readonly ground: Ground
  readonly isClosing: () => boolean
  close(): Promise<void>
}

/** A running agent. */
export interface Agent {
  readonly parts: AgentParts
  /** The port of the probes; null until it is free. */
  readonly port: number | null
  /** Takes no new jobs and waits for those that run, as long as the settings say; then ends or leaves them. */
  stop(): Promise<void>
  /** Ends at once and leaves running playbooks as they are. */
  kill(): Promise<void>
}

const RANDOM_STEPS = 2 ** 32

/** The log that settings ask for, on standard output. */
export function logOf({ logLevel: level, logFormat: format }: AgentSettings): Logger {
  return createLog({ level, format, output: process.stdout })
}

/**
 * Builds every part from settings. Each larger room is composed by its own `compose.ts`. This file only says which room
 * gets what from which other room.
 * @throws StateInUseError; an error of the state folder. Whatever was opened is closed again
 */
export async function buildAgent(settings: AgentSettings, overrides: AgentOverrides = {}): Promise<AgentParts> {
  const owner = createPartsOwner()
  const ground: Ground = {
    log: overrides.log ?? logOf(settings),
    now: overrides.now ?? (() => new Date()),
    random: overrides.random ?? (() => randomInt(RANDOM_STEPS) / RANDOM_STEPS),
    environment: overrides.environment ?? { ...process.env },
    after: systemAfter,
    onClose: owner.onClose,
  }
  try {
    const parts = await composeRooms(ground, settings, overrides)
    return { ...parts, ground, isClosing: () => owner.isClosing, close: owner.close }
  } catch (error) {
    await owner.close()
    throw error
  }
}

/**
 * Builds every part, answers probes, reads the spool and dials.
 * @throws StateInUseError; an error of the state folder. Whatever was opened is closed again
 */
export async function startAgent(settings: AgentSettings, overrides: AgentOverrides = {}): Promise<Agent> {
  const parts = await buildAgent(settings, overrides)
  const { ground, close, isClosing, hostJobs, approvalWatch } = parts
  const { log } = ground
  let port: number | null = null
  try {
    await parts.health.keepListening(settings.listenHost, settings.port, log, (taken) => {
      port = taken
      log.info({ address: `http://${settings.listenHost}:${taken}` }, 'probes are answered here')
    })
    // The spool may hold a job whose secrets were sealed to these keys.
    await parts.keyring.prepare()
    await Promise.all([parts.loading.load(isClosing), parts.ansible.readVersion()])
    parts.link.start()
  } catch (error) {
    await close()
    throw error
  }
  return {
    parts,
    get port() {
      return port
    },
    async stop() {
      await drain({ hostJobs, approvalWatch, settings, log, isClosing })
      await close()
    },
    kill: close,
  }
}

/** What the agent needs of its host before anything else: an identity, a Python, the lock of its state folder. */
async function composeHost(
  ground: Ground,
  settings: AgentSettings,
  overrides: AgentOverrides,
  spoolBytes: () => number,
) {
  const { log, onClose } = ground
  const identity = await loadIdentity(settings.statePath)
  const findPython = overrides.findPython ?? (() => findHostPython(ground.environment, settings.python))
  const python = await composePython(ground, findPython)
  const { path } = python.now
  const runtime = createRuntime({ statePath: settings.statePath, jobs: () => spool.list(), log })
  const program = {
    python: path,
    get script() {
      return runtime.parts.locks
    },
  }
  const { stateLock, supervisors } = await composeState(ground, settings, program)
  onClose(() => runtime.close())
  const spool = composeSpool(ground, settings, spoolBytes)
  log.info({ name: settings.name, fingerprint: identity.fingerprint, state: settings.statePath }, 'agent starts')
  if (stateLock.doubt !== null) log.warn(stateLock.doubt)
  if (stateLock.isCopied) log.warn('this state folder is a copy: nothing is decided about its jobs until it is let in')
  const copy = {
    isCopied: () => stateLock.isCopied,
    letIn: () => {
      stateLock.letIn().catch((error: unknown) => {
        log.warn({ error }, 'cannot note that this copy of a state folder was let in; the next start may be refused')
      })
    },
  }
  const descriptors = openDescriptorReserve(log)
  onClose(() => {
    descriptors.close()
  })
  const { generation, instance } = stateLock
  const start = { generation, instance, isCopied: copy.isCopied }
  /** Why nothing can be started just now; null: all is well. */
  const passingProblem = (): string | null => descriptors.problem ?? runtime.problem()
  return { identity, python, spool, runtime, stateLock, start, copy, supervisors, passingProblem }
}

type Host = Awaited<ReturnType<typeof composeHost>>

/** The spool, the caches of files, the isolation of jobs, and the watch over the disk that prepares their folders. */
async function composeStorage(ground: Ground, settings: AgentSettings, host: Host) {
  const { python, spool, runtime, stateLock } = host
  const cache = await openBlobCache(settings.statePath, settings.cacheBytes)
  const uploadStore = openUploadStore(settings.statePath)
  const { path } = python.now
  const isolation = composeIsolation(ground, settings, {
    python: path,
    parts: () => runtime.parts,
    access: () => playbookAccess(ground.environment, settings, path, runtime.parts),
  })
  const moved = composeMovedState(ground, settings, spool)
  const disk = await composeDisk(ground, settings, async () => {
    await stateLock.keep()
    await spool.prepare()
    // Playbooks that run may miss their files.
    await moved.look()
    for (const part of [cache, uploadStore, runtime]) await part.prepare()
    // Isolation comes after them, since it checks folders that they make. A full disk may have stopped it before.
    await isolation.prepare()
  })
  // The disk cannot be written, so nothing was prepared. /ready should say what is known of isolation all the same.
  if (disk.problem !== null) await Promise.all([moved.look(), isolation.prepare()])
  return { cache, uploadStore, isolation, disk, moved }
}

function isIdle(hostJobs: HostJobs): boolean {
  const { spooledJobs, runningJobs, claimingJobs } = hostJobs.figures()
  return spooledJobs + runningJobs + claimingJobs === 0
}

/** The probes. @param parts those that they ask; they are built later */
function composeHealth(
  { onClose }: Ground,
  parts: () => {
    readonly hostJobs: HostJobs
    readonly moved: { readonly problem: string | null }
    readonly approvalWatch: ApprovalWatch
    readonly isolation: { word(): string }
    readonly link: { readonly connects: number }
    readonly trust: { readonly refused: unknown }
    readonly cache: { bytes(): number }
  },
) {
  const health = createHealthServer({
    notReady: () => {
      const { hostJobs, moved, approvalWatch } = parts()
      const trouble = hostJobs.figures().trouble ?? moved.problem
      return approvalWatch.notReady() ?? (trouble === null ? null : { problem: trouble })
    },
    isolation: () => parts().isolation.word(),
    figures: () => {
      const { hostJobs, approvalWatch, link, trust, cache } = parts()
      return {
        ...hostJobs.figures(),
        approved: approvalWatch.state === 'approved',
        connects: link.connects,
        isServiceRefused: trust.refused !== null,
        cacheBytes: cache.bytes(),
      }
    },
  })
  onClose(() => health.close())
  return health
}

async function composeRooms(ground: Ground, settings: AgentSettings, overrides: AgentOverrides) {
  const { log, now } = ground
  const { name, joinToken, statePath } = settings
  const host = await composeHost(ground, settings, overrides, () => hostJobs.figures().spoolBytes)
  const { identity, python, spool, runtime, start, copy, supervisors, passingProblem } = host
  const health = composeHealth(ground, () => ({ hostJobs, moved, approvalWatch, isolation, link, trust, cache }))
  const { cache, uploadStore, isolation, disk, moved } = await composeStorage(ground, settings, host)
  /** What a person has to mend on this host before any job is taken. */
  const hostProblem = (): string | null => python.now.problem ?? isolation.problem
  const trust = openTrust({ statePath, given: settings.serviceFingerprint, now, log })
  const keyring = createKeyring(identity, { statePath, log, isIdle: () => isIdle(hostJobs) })
  const ofHost = { python, isolation, runtime }
  const { playbook, supervisor, ansible, removeContainer } = composePlaybook(ground, settings, ofHost)
  const { hostJobs, loading } = composeJobs(ground, settings, {
    spool,
    supervisors,
    cache,
    uploadStore,
    playbook,
    supervisor,
    removeContainer,
    trust,
    openSecrets: createSecretsOpener(() => keyring.openers()),
    releaseUser: (jobFolder) => isolation.release(jobFolder),
    mostJobs: () => isolation.maxJobs(),
    problem: hostProblem,
    hostProblem() {
      if (disk.problem !== null) return { code: 'spool_full', message: disk.problem }
      const passing = passingProblem()
      return passing === null ? null : { code: 'busy', message: passing }
    },
    isCopied: copy.isCopied,
    changed: () => {
      approvalWatch.sendStatus()
    },
  })
  const approvalWatch: ApprovalWatch = createApprovalWatch({
    hostJobs,
    trust,
    name,
    fingerprint: identity.fingerprint,
    now,
    log,
    ...copy,
    problem: () => hostProblem() ?? disk.problem ?? passingProblem() ?? loading.problem,
    hasJoinToken: joinToken !== null,
  })
  const link = composeLink(ground, settings, {
    keyring,
    trust,
    events: approvalWatch.events,
    hello: {
      ...start,
      name,
      joinToken,
      maxJobs: hostJobs.figures().maxJobs,
      isolation: () => isolation.word(),
      version: readVersion(),
      ansibleVersion: () => ansible.version,
    },
  })
  return {
    fingerprint: identity.fingerprint,
    health,
    keyring,
    hostJobs,
    loading,
    approvalWatch,
    playbook,
    ansible,
    link,
  }
}
