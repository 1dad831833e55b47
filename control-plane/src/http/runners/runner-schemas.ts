import { type Static, Type } from 'typebox'
import { nullable } from '../../words/nullable.js'
import type { RunnerView } from '../../runners/registration/admin/actions.js'
import type { JoinToken } from '../../store/runners/join-tokens.js'
import { isoTime } from '../../time/clock.js'
import { RUNNER_STATES } from '../../words/runner-state.js'
import { JOIN_TOKEN_MINUTES } from '../../runners/registration/join/tokens.js'

/** Most playbooks at once that an admin may set. */
const MAX_JOBS = 10_000

/** A runner as an admin sees it. */
export const RunnerRecord = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    state: Type.Enum(RUNNER_STATES),
    online: Type.Boolean(),
    enabled: Type.Boolean(),
    is_default: Type.Boolean(),
    mode: Type.String({ description: 'Who dials: outbound is the agent, inbound is the control plane' }),
    fingerprint: Type.String(),
    host: Type.String(),
    ip: Type.String(),
    version: Type.String(),
    contract: Type.Integer(),
    ansible_version: nullable(Type.String()),
    isolation: Type.Optional(
      Type.String({ description: 'How it keeps jobs apart: none, user, or user (not available)' }),
    ),
    max_jobs: Type.Integer({
      description: 'Playbooks at the same time, 0 = no limit: the number that an admin set, or else that of the agent',
    }),
    agent_max_jobs: Type.Integer({ description: 'What the agent says' }),
    running_jobs: Type.Integer(),
    draining: Type.Boolean(),
    clock_skew_ms: Type.Integer({ description: 'Its clock minus ours' }),
    spool_bytes: Type.Integer(),
    requested_at: Type.String(),
    approved_at: nullable(Type.String()),
    approved_by: nullable(Type.String()),
    last_seen: Type.String(),
    description: Type.String(),
    kept_by: Type.Optional(
      nullable(
        Type.String({
          description: 'Who marked the request, so that it stays listed when the runner that asks has left',
        }),
      ),
    ),
    clone: nullable(
      Type.Object(
        { seen_at: Type.String(), host: nullable(Type.String()), ip: nullable(Type.String()) },
        {
          description: 'Another process that used the same identity was refused; its address, if that is known',
        },
      ),
    ),
  },
  { title: 'Runner' },
)

/** The body of an approval; it may be left out. */
export const ApproveRunnerBody = nullable(
  Type.Object({
    fingerprint: Type.Optional(
      Type.String({
        description: 'The fingerprint that was compared with the host; with another one by now the answer is 409',
        maxLength: 100,
      }),
    ),
  }),
)

/** What an admin may change of a runner. */
export const RunnerBody = Type.Object(
  {
    name: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
        description: 'The name of the runner in forms and roles; its agent need not be started with the same name',
      }),
    ),
    enabled: Type.Optional(Type.Boolean()),
    is_default: Type.Optional(Type.Boolean()),
    description: Type.Optional(Type.String({ maxLength: 1000 })),
    max_jobs: Type.Optional(nullable(Type.Integer({ minimum: 0, maximum: MAX_JOBS }))),
    keep: Type.Optional(
      Type.Boolean({
        description:
          'Whether a waiting request stays in the list when its runner has disconnected; otherwise it is removed a minute' +
          ' later',
      }),
    ),
  },
  {
    title: 'RunnerChanges',
    description: 'Properties that are left out stay as they are. With max_jobs null the number of the agent counts',
  },
)

/** A join token in a list, without the token itself. */
export const JoinTokenRecord = Type.Object(
  {
    id: Type.Integer(),
    name: nullable(Type.String()),
    created_at: Type.String(),
    created_by: Type.String(),
    expires_at: Type.String(),
    used_at: nullable(Type.String()),
    used_by: nullable(Type.String({ description: 'Name of the runner that joined by it' })),
  },
  { title: 'JoinToken' },
)

/** The body of a request for a new join token; it may be left out. */
export const JoinTokenBody = nullable(
  Type.Object({
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    ttl_minutes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: JOIN_TOKEN_MINUTES.most,
        description: `${JOIN_TOKEN_MINUTES.default} when left out`,
      }),
    ),
  }),
)

/** A new join token. Only this answer shows it. */
export const NewJoinToken = Type.Object(
  { id: Type.Integer(), token: Type.String(), expires_at: Type.String() },
  { title: 'NewJoinToken' },
)

/** A runner in the form of {@link RunnerRecord}. */
export function runnerRecordOf({ runner, online }: RunnerView): Static<typeof RunnerRecord> {
  return {
    id: runner.id,
    name: runner.name,
    state: runner.state,
    online,
    enabled: runner.enabled,
    is_default: runner.isDefault,
    mode: runner.mode,
    fingerprint: runner.fingerprint,
    host: runner.host,
    ip: runner.ip,
    version: runner.version,
    contract: runner.contract,
    ansible_version: runner.ansibleVersion,
    isolation: runner.isolation,
    max_jobs: runner.maxJobs ?? runner.agentMaxJobs,
    agent_max_jobs: runner.agentMaxJobs,
    running_jobs: runner.runningJobs,
    draining: runner.draining,
    clock_skew_ms: runner.clockSkewMs,
    spool_bytes: runner.spoolBytes,
    requested_at: isoTime(runner.requestedAt),
    approved_at: isoTime(runner.approvedAt),
    approved_by: runner.approvedBy,
    last_seen: isoTime(runner.lastSeen),
    description: runner.description,
    kept_by: runner.keptBy,
    clone:
      runner.cloneSeenAt === null
        ? null
        : { seen_at: isoTime(runner.cloneSeenAt), host: runner.cloneHost, ip: runner.cloneIp },
  }
}

/** A join token in the form of {@link JoinTokenRecord}. */
export function joinTokenRecordOf(token: JoinToken): Static<typeof JoinTokenRecord> {
  return {
    id: token.id,
    name: token.name,
    created_at: isoTime(token.createdAt),
    created_by: token.createdBy,
    expires_at: isoTime(token.expiresAt),
    used_at: isoTime(token.usedAt),
    used_by: token.usedBy,
  }
}
