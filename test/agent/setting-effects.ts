import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Agent } from '../../runner-agent/src/main.js'
import type { RUNNER_AGENT_SETTINGS } from '../../runner-agent/src/settings-table.js'
import { AgentProcess } from './agent-process.js'
import type { FakeControlPlane } from './fake-control-plane.js'
import { orderOf } from './playbooks.js'
import { waitUntil } from './waiting.js'

/** An agent in this process, with what it was given. */
export interface LiveAgent {
  readonly agent: Agent
  readonly folder: string
  readonly probes: string
  /** The control plane that this agent was to be led to, and the other one. */
  readonly here: FakeControlPlane
  readonly there: FakeControlPlane
}

/** What a user sees of a setting: with its default, and with another value. */
export interface Effect {
  readonly given: string
  readonly look: (live: LiveAgent, isChanged: boolean) => Promise<unknown>
  readonly usual: unknown
  readonly changed: unknown
}

/** A test of the whole program that sees the setting: a file below test/, and its name as it stands there. */
export interface SeenElsewhere {
  readonly file: string
  readonly title: string
}

type SettingName = keyof typeof RUNNER_AGENT_SETTINGS

/** Bytes that lie in the cache of each agent before it starts. */
export const CACHED_BYTES = 1_500_000

const seenIn = (file: string, title: string): SeenElsewhere => ({ file, title })

const hello = async ({ here, there }: LiveAgent) =>
  waitUntil('a hello of the agent', () => [...here.hellos, ...there.hellos][0])

/** What a run that ends at once, because the state folder is in use, writes into its log. */
async function logOfRun({ folder }: LiveAgent, isChanged: boolean, more: Record<string, string>): Promise<string> {
  const statePath = join(folder, isChanged ? 'elsewhere' : 'state')
  const settings = { APP_URL: 'http://127.0.0.1:1', RTE_STATE_PATH: statePath, ...(isChanged ? more : {}) }
  return (await AgentProcess.command(['run'], settings)).output
}

/** Whether the cache keeps what lies in it after an offer was dealt with. */
async function cacheAfterAnOffer({ probes, here, there }: LiveAgent, isChanged: boolean): Promise<string> {
  const controlPlane = isChanged ? there : here
  const missing = 'f'.repeat(64)
  controlPlane.gone.add(missing)
  const job = controlPlane.offer(orderOf(missing))
  await waitUntil('the offer is refused', () => job.refusals.length > 0)
  const bytes = async () =>
    Number(/^holdfast_rte_cache_bytes (\d+)$/m.exec(await (await fetch(`${probes}/metrics`)).text())?.[1])
  if (!isChanged) return (await bytes()) === CACHED_BYTES ? 'kept' : 'trimmed'
  await waitUntil('the cache is trimmed', async () => (await bytes()) < CACHED_BYTES)
  return 'trimmed'
}

/** How each setting of the agent is seen. */
export const SETTING_EFFECTS: Readonly<Record<SettingName, Effect | SeenElsewhere>> = {
  RTE_MODE: seenIn('nodes/inbound.test.ts', 'asks to join, and waits for its approval'),
  RTE_INBOUND_HOST: seenIn('nodes/inbound.test.ts', 'asks to join, and waits for its approval'),
  RTE_INBOUND_PORT: seenIn('nodes/inbound.test.ts', 'asks to join, and waits for its approval'),
  APP_URL: {
    given: 'there',
    look: async (live) => {
      await hello(live)
      return live.here.hellos.length > 0 ? 'here' : 'there'
    },
    usual: 'here',
    changed: 'there',
  },
  APP_TLS_VERIFY: seenIn('agent/agent-join.test.ts', 'a certificate of an unknown authority is refused'),
  HTTPS_PROXY: seenIn('agent/agent-join.test.ts', 'HTTPS_PROXY is dialled through, with its password'),
  NO_PROXY: seenIn('agent/agent-join.test.ts', 'NO_PROXY names what is not'),
  RTE_NAME: {
    given: 'another-name',
    look: async (live) => (await hello(live)).name,
    usual: hostname()
      .replace(/[^A-Za-z0-9._-]/g, '-')
      .slice(0, 63),
    changed: 'another-name',
  },
  RTE_JOIN_TOKEN: {
    given: 'a-join-token',
    look: async (live) => (await hello(live)).join_token,
    usual: null,
    changed: 'a-join-token',
  },
  RTE_SERVICE_FINGERPRINT: seenIn(
    'attacks/service-identity.test.ts',
    'with a key of its own gets no name, no join token and no job run',
  ),
  RTE_STATE_PATH: {
    given: 'elsewhere',
    look: ({ folder }) => Promise.resolve(existsSync(join(folder, 'state', 'identity')) ? 'state' : 'elsewhere'),
    usual: 'state',
    changed: 'elsewhere',
  },
  RTE_MAX_JOBS: { given: '3', look: async (live) => (await hello(live)).max_jobs, usual: 10, changed: 3 },
  RTE_DRAIN_SECONDS: seenIn('agent/agent-survival.test.ts', 'leaves a playbook that does not end in time'),
  RTE_ON_STOP: seenIn('agent/agent-survival.test.ts', 'terminate ends running playbooks and still reports them'),
  RTE_FILES: seenIn('agent/agent-run.test.ts', 'with local files the playbook runs in the folder of the runner'),
  RTE_FILES_UMASK: seenIn('agent/agent-files.test.ts', 'RTE_FILES_UMASK takes bits away from all of them'),
  ANSIBLE_PATH: seenIn('agent/agent-run.test.ts', 'with local files the playbook runs in the folder of the runner'),
  RTE_PASS_ENVIRONMENT: seenIn('agent/agent-run.test.ts', 'what is passed on of the environment reach ansible'),
  RTE_PYTHON: seenIn('agent/agent-host.test.ts', 'one that is too old takes no job and is named'),
  RTE_GALAXY: seenIn('agent/agent-requirements.test.ts', 'requirements are installed once for all jobs'),
  RTE_GALAXY_MINUTES: {
    given: '4',
    look: ({ agent }) => Promise.resolve(agent.parts.playbook.galaxy?.seconds),
    usual: 600,
    changed: 240,
  },
  RTE_EXECUTION: seenIn('agent/agent-containers.test.ts', 'run with their secrets, keys and events'),
  RTE_EXECUTION_IMAGE: seenIn('agent/agent-containers.test.ts', 'say what is wrong with an image'),
  RTE_EXECUTION_OPTIONS: seenIn('agent/agent-containers.test.ts', 'run with their secrets, keys and events'),
  RTE_ISOLATION: seenIn('agent/agent-isolation.test.ts', 'two at once are two users; a third waits for one of them'),
  RTE_ISOLATION_USERS: seenIn('agent/agent-isolation.test.ts', 'two at once are two users; a third waits'),
  RTE_ISOLATION_SUDO: seenIn('agent/agent-isolation.test.ts', 'and programs gain no rights'),
  RTE_ISOLATION_HOME: seenIn('agent/agent-isolation.test.ts', 'each home begins with what the operator has put'),
  RTE_CACHE_MB: { given: '1', look: cacheAfterAnOffer, usual: 'kept', changed: 'trimmed' },
  RTE_SPOOL_MAX_MB: seenIn('agent/agent-run.test.ts', 'a spool over its limit takes no new jobs'),
  RTE_KEEP_ENDED_MINUTES: seenIn(
    'chaos/restored-database.test.ts',
    'a runner that keeps no output still says how its jobs ended, and what is lost is said',
  ),
  PORT: seenIn('agent/agent-disk.test.ts', 'an agent works whose port is taken, and answers probes when it is free'),
  LISTEN_HOST: {
    given: '127.0.0.2',
    look: ({ agent }) =>
      fetch(`http://127.0.0.2:${agent.port ?? 0}/live`).then(
        () => 'answers there',
        () => 'does not',
      ),
    usual: 'does not',
    changed: 'answers there',
  },
  LOG_LEVEL: {
    given: 'error',
    look: async (live, isChanged) => /"info"/.test(await logOfRun(live, isChanged, { LOG_LEVEL: 'error' })),
    usual: true,
    changed: false,
  },
  LOG_FORMAT: {
    given: 'text',
    look: async (live, isChanged) => (await logOfRun(live, isChanged, { LOG_FORMAT: 'text' })).startsWith('{'),
    usual: true,
    changed: false,
  },
}
