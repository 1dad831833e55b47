import type { CloseReasonName, HelloPayload } from '@holdfast/protocol'
import type { Insertable } from 'kysely'
import { consumeJoinToken, isJoinTokenGood } from '../../../store/runners/join-tokens.js'
import {
  type Runner,
  type RunnerUpdate,
  type WaitingRunner,
  deleteRunner,
  findRunnerByFingerprint,
  findRunnerByName,
  hasApprovedRunner,
  insertRunner,
  listWaitingRunners,
  trimDenied,
  updateRunner,
} from '../../../store/runners/runners.js'
import { hasHeldJobs } from '../../../store/jobs/dispatch.js'
import { noteAbsence } from '../../../store/jobs/job-stages.js'
import { noteRunnerEvent } from '../../../store/service/notification-events.js'
import type { RunnerTable } from '../../../store/schema/runners.js'
import type { Queries } from '../../../store/store.js'
import { CLONE_TEXT, continuesIdentity, COPY_TEXT, isUnacceptedCopy } from './clone-rule.js'
import { clockSkew, reportedText, reportedJobs } from '../../socket/reported.js'
import type { JoinLimits } from '../hub-options.js'
import { placeFor } from './request-place.js'

/** A hello whose signature is right, and what the server adds to it. */
export interface JoinRequest {
  readonly payload: HelloPayload
  readonly fingerprint: string
  /** Fingerprints of the keys that it had before, proven by signatures, the newest first. */
  readonly ancestors: readonly string[]
  readonly address: string
  /** An older process of the same identity is connected, and has just shown that it runs. */
  readonly rivalAnswers: boolean
  /** SHA-256 of the join token in hex, or null when none was sent. */
  readonly tokenHash: string | null
  readonly time: number
  /** Which side dialled. `outbound`: the agent. */
  readonly mode: 'outbound' | 'inbound'
  /** The node with the socket. */
  readonly nodeId: string
  /** Whether the agent of a request is connected, at this node or at another one. */
  readonly isConnected: (waiting: WaitingRunner) => boolean
}

/**
 * The decision about a hello. `visible`: something that an admin sees has changed, in addition to `online`. `replaced`:
 * the fingerprint under which the runner was known until now, if it has new keys.
 *
 * - `back`: an approved or waiting runner that was here before
 * - `asked`: a new request
 * - `joined`: approved at once by a join token
 */
export type JoinDecision =
  | {
      readonly kind: 'accepted'
      readonly how: 'back' | 'asked' | 'joined'
      readonly runner: Runner
      readonly replaced: string | null
      /** The request that was removed to make room, if there is one. */
      readonly displaced: number | null
    }
  | {
      readonly kind: 'refused'
      readonly reason: CloseReasonName
      readonly text: string
      /** The row that the refusal is about, if there is one. */
      readonly runnerId: number | null
      readonly visible: boolean
    }

/**
 * Decides about a hello inside one write. The agent is looked up by its key first, then by its name. The same write
 * stores the new epoch, uses up the join token and approves. So after a crash either all of it is stored or nothing.
 */
export async function decideHello(queries: Queries, request: JoinRequest, limits: JoinLimits): Promise<JoinDecision> {
  const known = await findRunnerByFingerprint(queries, request.fingerprint)
  if (known?.state === 'revoked') return refused('revoked', 'an admin revoked this runner', known.id)
  // An approved key keeps the name that an admin approved, whatever name the agent sends now.
  if (known?.state === 'approved') return acceptAgain(queries, known, request, {})

  const former = known === null || known.state === 'denied' ? await findFormer(queries, request.ancestors) : null
  if (former?.state === 'revoked') return refused('revoked', 'an admin revoked this runner', former.id)
  if (former) {
    if (known) await deleteRunner(queries, known.id)
    // The old key signed the new one. So it is the same runner, and nobody has to approve it again.
    return acceptAgain(queries, former, request, {
      fingerprint: request.fingerprint,
      identity_key: request.payload.identity_key,
    })
  }

  const owner = await findRunnerByName(queries, request.payload.name)
  const isOthers = owner !== null && owner.fingerprint !== request.fingerprint
  // A request that waits does not keep a name from a runner with a join token of an admin.
  const gives = isOthers && owner.state === 'waiting' && (await hasGoodToken(queries, request))
  if (isOthers && !gives) return deny(queries, known, request, limits)
  if (gives) await deleteRunner(queries, owner.id)
  const displaced = gives ? owner.id : null

  const waiting = known?.state === 'waiting' && known.name === request.payload.name ? known : null
  if (known && !waiting) await deleteRunner(queries, known.id)
  if (request.tokenHash !== null) {
    const decision = await joinByToken(queries, waiting, request, request.tokenHash)
    if (decision?.kind === 'accepted') return { ...decision, displaced }
    if (decision !== null) return decision
    // A token that is used up or unknown does not prevent a request. A runner that has joined with a token still has it
    // in its settings, also after it was removed or the database was lost.
  }
  if (waiting) return acceptAgain(queries, waiting, request, {})
  const place = placeFor(request.address, await listWaitingRunners(queries), request.isConnected, limits)
  if (!place.isFree) return refused('too_many_waiting', place.text, null)
  if (place.instead !== null) await deleteRunner(queries, place.instead)
  const runner = await insertRunner(queries, newRow(request, 'waiting'))
  await noteRunnerEvent(queries, 'request', runner, request.time)
  return { kind: 'accepted', how: 'asked', runner, replaced: null, displaced: place.instead }
}

async function hasGoodToken(queries: Queries, { tokenHash, time }: JoinRequest): Promise<boolean> {
  return tokenHash !== null && isJoinTokenGood(queries, tokenHash, time)
}

/**
 * The columns of an approval. The runner is turned on. It becomes the default runner when it is the only approved one.
 * If the default runner was removed and others remain, an admin has to choose the next default. Jobs must not move to a
 * runner that nobody chose.
 */
export async function approvedNow(queries: Queries, by: string, time: number) {
  const isDefault = !(await hasApprovedRunner(queries))
  return { state: 'approved' as const, enabled: 1, is_default: isDefault ? 1 : 0, approved_at: time, approved_by: by }
}

/** The runner that had the newest of these keys. */
async function findFormer(queries: Queries, ancestors: readonly string[]): Promise<Runner | null> {
  for (const fingerprint of ancestors) {
    const runner = await findRunnerByFingerprint(queries, fingerprint)
    if (runner && runner.state !== 'denied') return runner
  }
  return null
}

async function acceptAgain(
  queries: Queries,
  known: Runner,
  request: JoinRequest,
  changes: RunnerUpdate,
): Promise<JoinDecision> {
  const { payload } = request
  if (request.rivalAnswers || !continuesIdentity(known, payload)) return refuseClone(queries, known, request)
  if (isUnacceptedCopy(known, payload) && (await hasHeldJobs(queries, known))) {
    return refuseClone(queries, known, request, COPY_TEXT)
  }
  await noteAbsence(queries, known.id, known.lastSeen, request.time)
  // A restarted agent does not drain yet. A reconnected one may drain already.
  const restarted = payload.generation > known.generation ? { draining: 0 } : {}
  const runner = await updateRunner(queries, known.id, known.state, {
    ...helloColumns(request),
    epoch: known.epoch + 1,
    connected_node: request.nodeId,
    ...restarted,
    ...changes,
  })
  if (!runner) throw new Error(`runner ${known.id} changed inside a write`)
  const replaced = 'fingerprint' in changes ? known.fingerprint : null
  return { kind: 'accepted', how: 'state' in changes ? 'joined' : 'back', runner, replaced, displaced: null }
}

async function refuseClone(
  queries: Queries,
  known: Runner,
  { payload, address, time }: JoinRequest,
  text = CLONE_TEXT,
): Promise<JoinDecision> {
  const sighting = {
    clone_seen_at: time,
    clone_host: reportedText(payload.host),
    clone_ip: address,
    clone_generation: payload.generation,
    clone_instance: payload.instance,
  }
  await updateRunner(queries, known.id, known.state, sighting)
  return { kind: 'refused', reason: 'clone', text, runnerId: known.id, visible: true }
}

/** Null: the token is unknown, used or expired. */
async function joinByToken(
  queries: Queries,
  waiting: Runner | null,
  request: JoinRequest,
  hash: string,
): Promise<JoinDecision | null> {
  if (waiting && (request.rivalAnswers || !continuesIdentity(waiting, request.payload))) {
    return refuseClone(queries, waiting, request)
  }
  const token = await consumeJoinToken(queries, hash, { time: request.time, by: request.payload.name })
  if (!token) return null
  const approval = await approvedNow(queries, `join token ${token.name ?? `#${token.id}`}`, request.time)
  if (waiting) return acceptAgain(queries, waiting, request, approval)
  const runner = await insertRunner(queries, { ...newRow(request, 'approved'), ...approval })
  return { kind: 'accepted', how: 'joined', runner, replaced: null, displaced: null }
}

async function deny(
  queries: Queries,
  known: Runner | null,
  request: JoinRequest,
  limits: JoinLimits,
): Promise<JoinDecision> {
  const text = `the name ${request.payload.name} is known with another key`
  if (known?.state === 'denied' && known.name === request.payload.name) {
    const runner = await updateRunner(queries, known.id, 'denied', helloColumns(request))
    return refused('denied', text, runner?.id ?? null)
  }
  if (known) await deleteRunner(queries, known.id)
  const { id } = await insertRunner(queries, newRow(request, 'denied'))
  await trimDenied(queries, limits.mostDenied)
  return { kind: 'refused', reason: 'denied', text, runnerId: id, visible: true }
}

function refused(reason: CloseReasonName, text: string, runnerId: number | null): JoinDecision {
  return { kind: 'refused', reason, text, runnerId, visible: false }
}

/** The columns that every hello sets. */
function helloColumns({ payload, address, mode, time }: JoinRequest) {
  return {
    mode,
    sealing_key: payload.sealing_key,
    host: reportedText(payload.host),
    ip: address,
    version: reportedText(payload.version),
    contract: payload.speaks,
    ansible_version: payload.ansible_version === null ? null : reportedText(payload.ansible_version),
    isolation: payload.isolation,
    agent_max_jobs: reportedJobs(payload.max_jobs),
    generation: payload.generation,
    instance: payload.instance,
    clock_skew_ms: clockSkew(payload.clock, time),
    last_seen: time,
  }
}

function newRow(request: JoinRequest, state: Runner['state']): Insertable<RunnerTable> {
  return {
    ...helloColumns(request),
    name: request.payload.name,
    state,
    enabled: 0,
    is_default: 0,
    fingerprint: request.fingerprint,
    identity_key: request.payload.identity_key,
    max_jobs: null,
    epoch: state === 'denied' ? 0 : 1,
    running_jobs: 0,
    draining: 0,
    spool_bytes: 0,
    requested_at: request.time,
    approved_at: null,
    approved_by: null,
    description: '',
    clone_seen_at: null,
    clone_host: null,
    clone_ip: null,
    connected_node: state === 'denied' ? null : request.nodeId,
    kept_by: null,
  }
}
