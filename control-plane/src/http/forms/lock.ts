import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Caller } from '../../auth/sessions/caller.js'
import { isoTime } from '../../time/clock.js'
import { type DesignerLock, type LockHolder, LOCK_SILENCE_MS } from '../../forms/designer-lock.js'
import type { Lock } from '../../store/service/locks.js'
import { adminOf, callerOf, requireAdmin } from '../route/guards.js'
import { Message, answers } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const LockState = Type.Object(
  {
    locked: Type.Boolean(),
    holder: nullable(Type.String({ description: '<type>/<username>' })),
    since: nullable(Type.String({ format: 'date-time' })),
    until: nullable(Type.String({ format: 'date-time', description: 'When it is free if the holder stays silent' })),
    mine: Type.Boolean(),
    free: Type.Optional(Type.Boolean({ description: 'The same as not locked, for pages of the product family' })),
    match: Type.Optional(Type.Boolean({ description: 'While it is held: whether the caller holds it' })),
    lock: Type.Optional(
      Type.Object(
        { username: Type.String(), type: Type.String(), created: Type.String() },
        { description: 'While it is held: who holds it, and since when (YYYY-MM-DD HH:mm:ss, UTC)' },
      ),
    ),
    message: Type.Optional(Type.String()),
  },
  { title: 'LockState' },
)

/** Routes for the lock of the form designer. A holder who takes it again keeps it. */
export function lockRoutes(deps: { readonly lock: DesignerLock }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/lock',
      { schema: { tags: ['designer'], summary: 'Who holds the designer lock', response: answers(LockState) } },
      async (request) => show(await deps.lock.read(), callerOf(request)),
    )

    app.post(
      '/lock',
      {
        onRequest: requireAdmin,
        config: { audit: { action: 'lock.take', kind: 'lock' } },
        schema: {
          tags: ['designer'],
          operationId: 'takeLock',
          summary: 'Take or keep the designer lock (admin); it is free again after 10 minutes of silence',
          response: answers(LockState, 403, 409),
        },
      },
      async (request) => {
        const caller = adminOf(request)
        return { ...show(await deps.lock.take(holderOf(caller)), caller), message: 'The lock is yours' }
      },
    )

    app.delete(
      '/lock',
      {
        onRequest: requireAdmin,
        config: { audit: { action: 'lock.release', kind: 'lock' } },
        schema: {
          tags: ['designer'],
          operationId: 'releaseLock',
          summary: 'Release the designer lock (admin)',
          response: answers(Message, 403, 409),
        },
      },
      async (request) => {
        const wasHeld = await deps.lock.release(holderOf(adminOf(request)))
        return { message: wasHeld ? 'The lock was released' : 'The lock was free' }
      },
    )
  }
}

function holderOf({ id, type, username }: Caller): LockHolder {
  return { id, name: `${type}/${username}` }
}

function show(lock: Lock | null, caller: Caller) {
  return {
    locked: lock !== null,
    holder: lock?.holder ?? null,
    since: lock && isoTime(lock.takenAt),
    until: lock && isoTime(lock.touchedAt + LOCK_SILENCE_MS),
    mine: lock?.holderId === caller.id,
    ...inFamilyShape(lock, caller),
  }
}

/** The answer in the shape that pages of the product family use. */
function inFamilyShape(lock: Lock | null, caller: Caller) {
  if (lock === null) return { free: true }
  const slash = lock.holder.indexOf('/')
  const created = isoTime(lock.takenAt).slice(0, 19).replace('T', ' ')
  const [type, username] = [lock.holder.slice(0, slash), lock.holder.slice(slash + 1)]
  return { free: false, match: lock.holderId === caller.id, lock: { username, type, created } }
}
