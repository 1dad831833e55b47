import { type AgentConnection, TAKEN_OVER_TEXT } from './agent-connection.js'
import type { Nodes } from '../nodes/nodes.js'
import type { HubLimits, HubOptions } from './hub-options.js'
import { hashJoinToken } from './join-tokens.js'
import { type JoinDecision, type JoinRequest, decideHello } from './joining.js'
import type { Registry } from './registry.js'
import type { Rivals } from './rivals.js'

export interface JoinDeps extends Pick<HubOptions, 'store' | 'clock' | 'live' | 'log'> {
  readonly limits: HubLimits
  readonly registry: Registry
  readonly nodes: Nodes
  readonly rivals: Rivals
}

/**
 * Carries a proven hello through the database and back to its connection. Must not run twice at once for one key: the
 * order of the stored epochs is the order in which connections take each other over.
 */
export async function join(deps: JoinDeps, connection: AgentConnection): Promise<void> {
  const { payload, fingerprint, ancestors } = connection.hello
  const who = { runner: payload.name, fingerprint, ip: connection.address }
  const request: JoinRequest = {
    payload,
    rivalAnswers: await anyRival(deps, [fingerprint, ...ancestors], payload.generation),
    fingerprint,
    ancestors,
    address: connection.address,
    tokenHash: payload.join_token === null ? null : hashJoinToken(payload.join_token),
    time: deps.clock.now(),
    nodeId: deps.nodes.id,
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
  if (decision.replaced !== null) deps.log.info({ ...who, replaced: decision.replaced }, 'runner replaced its key')
  // The new epoch is stored, so the older connection is fenced even if this one did not live to see it.
  for (const key of [fingerprint, ...ancestors]) {
    if (deps.registry.of(key)?.runnerId === runner.id) deps.registry.takeOut(key)?.close('taken_over', TAKEN_OVER_TEXT)
  }
  deps.nodes.bus.publish({ topic: 'runner', runner: runner.id })
  if (!connection.socket.ended) {
    deps.registry.add(connection)
    connection.accept(runner)
    deps.log.info({ ...who, state: runner.state, epoch: runner.epoch }, 'runner connected')
  }
  deps.live.changed('runners')
}

/** Whether an older process of the same identity still runs, under today's key or one before it. */
async function anyRival(deps: JoinDeps, fingerprints: readonly string[], generation: number): Promise<boolean> {
  for (const fingerprint of fingerprints) if (await deps.rivals.answers({ fingerprint, generation })) return true
  return false
}
