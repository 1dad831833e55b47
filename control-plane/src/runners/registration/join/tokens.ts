import { createHash } from 'node:crypto'
import { joinSecretOf, joinTokenOf } from '@holdfast/protocol'
import { NotFoundError } from '../../../errors.js'
import {
  type JoinToken,
  deleteJoinToken,
  hasJoinToken,
  insertJoinToken,
  listJoinTokens,
} from '../../../store/runners/join-tokens.js'
import type { HubDependencies } from '../hub-options.js'

/** How many minutes a join token is valid: when no time is given, and at most. */
export const JOIN_TOKEN_MINUTES = { default: 30, most: 1440 } as const

const TOKEN_BYTES = 32

/**
 * Tokens that approve the first request of a runner at once. Each works once, is shown once, and is stored as its hash.
 */
export type JoinTokens = ReturnType<typeof createJoinTokens>

/** SHA-256 of the secret part of a join token, in hex: what is stored and looked for. */
export function hashJoinToken(token: string): string {
  return createHash('sha256').update(joinSecretOf(token)).digest('hex')
}

/** What the join tokens need of other parts. */
export interface JoinTokenDependencies extends Pick<HubDependencies, 'store' | 'clock' | 'random' | 'log'> {
  /** The fingerprint of this control plane's key. The token tells a new runner which control plane to trust. */
  readonly fingerprint: () => string
}

/** Makes the {@link JoinTokens} of this control plane. */
export function createJoinTokens(deps: JoinTokenDependencies) {
  return {
    async create(
      { name, ttlMinutes }: { name: string | null; ttlMinutes: number },
      by: string,
    ): Promise<{ token: string; record: JoinToken }> {
      const token = joinTokenOf(deps.random(TOKEN_BYTES).toString('base64url'), deps.fingerprint())
      const createdAt = deps.clock.now()
      const row = {
        name,
        hash: hashJoinToken(token),
        createdAt,
        createdBy: by,
        expiresAt: createdAt + ttlMinutes * 60_000,
      }
      const record = await deps.store.write('join-tokens.create', (queries) => insertJoinToken(queries, row))
      deps.log.info({ join_token_id: record.id, name, by }, 'join token made')
      return { token, record }
    },
    list: (): Promise<JoinToken[]> => listJoinTokens(deps.store.read),
    exists: (id: number): Promise<boolean> => hasJoinToken(deps.store.read, id),
    /** @throws NotFoundError */
    async remove(id: number, by: string): Promise<void> {
      const removed = await deps.store.write('join-tokens.remove', (queries) => deleteJoinToken(queries, id))
      if (!removed) throw new NotFoundError('no_such_join_token', `There is no join token ${id}`)
      deps.log.info({ join_token_id: id, by }, 'join token removed')
    },
  }
}
