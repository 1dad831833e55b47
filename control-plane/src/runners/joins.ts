import { type AgentConnection, TAKEN_OVER_TEXT } from './agent-connection.js'
import type { CloneSightings } from './clone-sightings.js'
import type { HubLimits, HubOptions } from './hub-options.js'
import { hashJoinToken } from './join-tokens.js'
import { type JoinDecision, type JoinRequest, decideHello } from './joining.js'
import type { Registry } from './registry.js'

export interface JoinDeps extends Pick<HubOptions, 'store' | 'clock' | 'live' | 'log'> {
  readonly limits: HubLimits
  readonly registry: Registry
  readonly clones: CloneSightings
}

/**
 * Carries a proven hello through the database and back to its connection. Must not run twice at once for one key: the
 * order of the stored epochs is the order in which connections take each other over.
 */
export async function join(deps: JoinDeps, connection: AgentConnection): Promise<void> {
  const { payload, fingerprint } = connection.hello
  const who = { runner: payload.name, fingerprint, ip: connection.address }
  const request: JoinRequest = {
    payload,
    rivalAnswers: await rivalAnswers(deps, connection),
    fingerprint,
    address: connection.address,
    tokenHash: payload.join_token === null ? null : hashJoinToken(payload.join_token),
    time: deps.clock.now(),
  }
  let decision: JoinDecision
  try {
    decision = await deps.store.write('runners.hello', (queries) => decideHello(queries, request, deps.limits))
  } catch (error) {
    deps.log.error({ ...who, err: error }, 'a hello could not be decided')
    connection.close('internal_error', 'the request could not be stored; try again')
    return
  }

  if (decision.kind === 'refused') {
    deps.log.warn({ ...who, reason: decision.reason }, `runner refused: ${decision.text}`)
    if (decision.reason === 'clone' && decision.runnerId !== null) {
      deps.clones.note(decision.runnerId, { host: payload.host, ip: connection.address })
    }
    connection.close(decision.reason, decision.text)
    if (decision.visible) deps.live.changed('runners')
    return
  }

  const { runner, how } = decision
  if (how === 'asked') deps.log.info(who, 'runner asks to join')
  if (how === 'joined') deps.log.info({ ...who, approved_by: runner.approvedBy }, 'runner approved')
  if (runner.name !== payload.name) {
    deps.log.warn({ ...who, approved_as: runner.name }, 'runner calls itself by another name; the approved one stands')
  }
  // The new epoch is stored, so the older connection is fenced even if this one did not live to see it.
  deps.registry.takeOut(fingerprint)?.close('taken_over', TAKEN_OVER_TEXT)
  if (!connection.socket.ended) {
    deps.registry.add(connection)
    connection.accept(runner)
    deps.log.info({ ...who, state: runner.state, epoch: runner.epoch }, 'runner connected')
  }
  deps.live.changed('runners')
}

/**
 * Whether an older process of the same identity still runs. An agent starts only when the one before it is gone, so the
 * newer one then comes from a copy of the state folder, and what it believes of the jobs in there is wrong.
 */
async function rivalAnswers({ registry, limits }: JoinDeps, connection: AgentConnection): Promise<boolean> {
  const { payload, fingerprint } = connection.hello
  const rival = registry.of(fingerprint)
  if (!rival || payload.generation <= rival.hello.payload.generation) return false
  return rival.socket.answers(limits.answerMs)
}
