import { type AgentConnection, TAKEN_OVER_TEXT } from '../../socket/agent-connection.js'
import { type Nodes, isElsewhere } from '../../../nodes/nodes.js'
import { isJoinTokenGood } from '../../../store/runners/join-tokens.js'
import { findRunnerByFingerprint, findApprovedAddresses } from '../../../store/runners/runners.js'
import type { Admission } from '../../socket/admission.js'
import type { HubLimits, HubDependencies } from '../hub-options.js'
import { hashJoinToken } from './tokens.js'
import { type JoinDecision, type JoinRequest, decideHello } from './decision.js'
import type { Registry } from '../registry.js'
import type { Rivals } from './rivals.js'
import type { Strangers } from '../../socket/strangers.js'
import { networkOf } from '../../../auth/sessions/network.js'
import type { Store } from '../../../store/store.js'

/** What joining needs of other parts. */
export interface JoinDependencies extends Pick<HubDependencies, 'store' | 'clock' | 'live' | 'log'> {
  readonly limits: HubLimits
  readonly registry: Registry
  readonly nodes: Nodes
  readonly rivals: Rivals
  readonly admission: Admission
  readonly strangers: Strangers
  readonly known: KnownAddresses
  /** A request was removed for another one. Its connection is informed in its own turn. */
  readonly displaced: (runnerId: number) => void
}

/**
 * Takes a hello whose signature is right through the database and back to its connection. It must not run twice at once
 * for one key, because the order of the stored epochs is the order in which connections replace each other.
 *
 * An agent with an approved key or a valid join token is decided about at once. All others are unknown: a few of them
 * are handled at a time, and only so many of one address.
 */
export async function join(deps: JoinDependencies, connection: AgentConnection): Promise<void> {
  const { payload, fingerprint, ancestors } = connection.hello
  const request: JoinRequest = {
    payload,
    rivalAnswers: await anyRival(deps, [fingerprint, ...ancestors], payload.generation),
    fingerprint,
    ancestors,
    address: connection.address,
    tokenHash: payload.join_token === null ? null : hashJoinToken(payload.join_token),
    time: deps.clock.now(),
    mode: connection.dialled === null ? 'outbound' : 'inbound',
    nodeId: deps.nodes.id,
    isConnected: (waiting) => deps.registry.find(waiting) !== null || isElsewhere(deps.nodes, waiting),
  }
  if (await isAwaited(deps, request)) {
    deps.admission.leave(connection)
    await decide(deps, connection, request)
    return
  }
  if (connection.socket.ended) return
  if (!deps.strangers.mayAsk(connection)) {
    connection.close('too_many_waiting', 'too many requests come from this address; try again later')
    return
  }
  deps.admission.enter(connection, 'queued')
  await deps.strangers.inTurn(connection, () => decide(deps, connection, request))
}

/** Whether an approved key or a valid join token says who this is. The write that decides checks it again. */
async function isAwaited(
  { store }: JoinDependencies,
  { fingerprint, ancestors, tokenHash, time }: JoinRequest,
): Promise<boolean> {
  for (const key of [fingerprint, ...ancestors]) {
    const known = await findRunnerByFingerprint(store.read, key)
    if (known?.state === 'approved') return true
  }
  return tokenHash !== null && isJoinTokenGood(store.read, tokenHash, time)
}

async function decide(deps: JoinDependencies, connection: AgentConnection, request: JoinRequest): Promise<void> {
  const { payload, fingerprint, ancestors } = request
  const who = { runner: payload.name, fingerprint, ip: connection.address }
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

  const { runner, how, displaced } = decision
  if (displaced !== null) {
    deps.log.warn({ ...who, runner_id: displaced }, 'a request to join had to go for this runner')
    deps.displaced(displaced)
  }
  if (how === 'asked') deps.log.info(who, 'runner asks to join')
  if (runner.state === 'waiting' && request.tokenHash !== null) {
    deps.log.warn(who, 'the join token of this runner is unknown, used or expired: it waits for an admin')
  }
  if (how === 'joined') deps.log.info({ ...who, approved_by: runner.approvedBy }, 'runner approved')
  if (runner.name !== payload.name) {
    deps.log.warn({ ...who, approved_as: runner.name }, 'runner calls itself by another name; the approved one stands')
  }
  if (decision.replaced !== null) deps.log.info({ ...who, replaced: decision.replaced }, 'runner replaced its key')
  if (runner.state === 'approved') deps.known.note(connection.address)
  // The new epoch is stored. So the older connection can write nothing any more, even if this one has ended since.
  for (const key of [fingerprint, ...ancestors]) {
    const isIts = key === fingerprint || deps.registry.of(key)?.runnerId === runner.id
    if (isIts) deps.registry.takeOut(key)?.close('taken_over', TAKEN_OVER_TEXT)
  }
  deps.nodes.bus.publish({ topic: 'runner', runner: runner.id })
  if (!connection.socket.ended) {
    deps.registry.add(connection)
    connection.accept(runner)
    deps.log.info({ ...who, state: runner.state, epoch: runner.epoch }, 'runner connected')
  }
  deps.live.changed('runners')
}

/** Whether an older process of the same identity still runs, under the current key or an earlier one. */
async function anyRival(deps: JoinDependencies, fingerprints: readonly string[], generation: number): Promise<boolean> {
  for (const fingerprint of fingerprints) if (await deps.rivals.answers({ fingerprint, generation })) return true
  return false
}

/**
 * Network addresses from which approved runners came. Some places are kept for them when many unknown agents connect.
 */
export type KnownAddresses = ReturnType<typeof createKnownAddresses>

/** Makes the list of addresses, empty until the first refresh. */
export function createKnownAddresses(store: Store) {
  let networks = new Set<string>()
  return {
    has: (network: string): boolean => networks.has(network),
    /** An approved runner came from this address. */
    note: (address: string): void => void networks.add(networkOf(address)),
    /** Reads the addresses again. The old ones are used until that is done. */
    async refresh(): Promise<void> {
      networks = new Set((await findApprovedAddresses(store.read)).map(networkOf))
    },
  }
}
