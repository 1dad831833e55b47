import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { AuditChain } from '../../audit/chain.js'
import type { AuditTrail } from '../../audit/trail.js'
import { USER_TYPES } from '../../words/user-type.js'
import { isoTime } from '../../time/clock.js'
import { InvalidInputError } from '../../errors.js'
import { shownUsername } from '../../store/accounts/users.js'
import { type StoredAuditEntry, listAudit } from '../../store/audit/audit.js'
import { requireAdmin } from '../route/guards.js'
import { linkNextPage } from '../route/next-page.js'
import { answers, asList, integerText, listOf, wholeNumberOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

/** Number of records of a page: the default, and the most. */
const RECORDS = { default: 100, most: 1000 } as const

const AuditRecord = Type.Object(
  {
    id: Type.Integer(),
    time: Type.String({ format: 'date-time' }),
    user: nullable(Type.String({ description: 'null: nobody who is known' })),
    user_type: nullable(Type.String()),
    user_id: Type.Optional(nullable(Type.Integer({ description: 'The account; names may be given again' }))),
    address: Type.String(),
    action: Type.String({ description: 'Such as job.abort; every operation here names its own' }),
    object: Type.Object({
      kind: Type.String(),
      id: nullable(Type.String()),
      name: nullable(Type.String()),
    }),
    status: nullable(
      Type.Integer({ description: 'Status of the answer; null: the control plane ended before it answered' }),
    ),
    request_id: Type.String(),
    position: nullable(Type.Integer({ description: 'Place in the chain; null: not chained yet' })),
    hash: nullable(Type.String({ description: 'SHA-256 over the record and the hash of the one before' })),
    detail: nullable(Type.String({ description: 'Special requests, such as force' })),
  },
  { title: 'AuditRecord' },
)

const AuditQuery = Type.Object({
  records: Type.Optional(integerText(`${RECORDS.default} when left out, at most ${RECORDS.most}`)),
  before: Type.Optional(
    integerText('Only older records than the one of this id: the header Link of the page before has it'),
  ),
  user: Type.Optional(Type.String({ description: 'Only what this user did' })),
  user_type: Type.Optional(Type.Enum(USER_TYPES)),
  action: Type.Optional(Type.String({ description: 'Only this action' })),
})

const Verification = Type.Object(
  {
    ok: Type.Boolean(),
    problem: nullable(Type.String({ description: 'What is wrong first' })),
    first: Type.Integer({
      description: 'Position of the oldest record; those before were removed by AUDIT_RETENTION_DAYS',
    }),
    head: Type.Object(
      { position: Type.Integer(), hash: Type.String() },
      { description: 'The newest record of the chain. Keep it elsewhere, and give it to a later call' },
    ),
    unchained: Type.Integer({ description: 'Newer records that are not chained yet' }),
  },
  { title: 'AuditVerification' },
)

const VerifyQuery = Type.Object({
  position: Type.Optional(integerText('Of a head that was noted before; needs hash')),
  hash: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Of a head that was noted before' })),
})

const AuditList = Type.Object(
  {
    ...listOf(AuditRecord).properties,
    // Optional in the document, so that a newer client understands an older service.
    database: Type.Optional(
      Type.String({
        description: 'Id of the database: if it is another one than before, ids may belong to other records now',
      }),
    ),
  },
  { title: 'AuditList' },
)

/** The audit trail, for admins. */
export function auditRoutes(deps: {
  /** The id of the database. */
  readonly database: () => Promise<string>
  readonly trail: AuditTrail
  readonly chain: AuditChain
}): FastifyPluginAsyncTypebox {
  const { database, trail, chain } = deps
  return async (app) => {
    app.get(
      '/audit',
      {
        onRequest: requireAdmin,
        schema: {
          tags: ['audit'],
          summary: 'Who changed what, newest first (admin)',
          operationId: 'listAudit',
          querystring: AuditQuery,
          response: answers(AuditList, 400, 403),
        },
      },
      async (request, reply) => {
        const { records, before, user, user_type: userType, action } = request.query
        const olderThan = before === undefined ? undefined : wholeNumberOf(before, 'before')
        await trail.allStored()
        const filter = { before: olderThan, user: user && shownUsername(user), userType, action }
        const size = pageSizeOf(records)
        const page = (await listAudit(trail.store.read, filter, size)).map(show)
        const last = page.at(-1)
        if (last && page.length >= size) linkNextPage(reply, last.id)
        return { ...asList(page), database: await database() }
      },
    )

    app.get(
      '/audit/verify',
      {
        onRequest: requireAdmin,
        schema: {
          tags: ['audit'],
          summary: 'Check that the audit trail was not changed (admin)',
          description:
            'Reads every record. With position and hash it also checks that the chain still has that record. An earlier ' +
            'call gave it as the head of the chain. This finds a chain that somebody with access to the database has made ' +
            'again.',
          operationId: 'verifyAudit',
          querystring: VerifyQuery,
          response: answers(Verification, 400, 403),
        },
      },
      async (request) => {
        const { position, hash } = request.query
        if ((position === undefined) !== (hash === undefined)) {
          throw new InvalidInputError('invalid_input', 'position and hash are needed together')
        }
        await trail.allStored()
        const known =
          position === undefined || hash === undefined
            ? undefined
            : { position: wholeNumberOf(position, 'position'), hash }
        const { isWhole, ...found } = await chain.verify(known)
        return { ok: isWhole, ...found }
      },
    )
  }
}

/**
 * As for every list: a text that is not a number counts as the default, and a number that is too small or too large
 * becomes the nearest limit.
 */
function pageSizeOf(text: string | undefined): number {
  const wanted = Math.trunc(Number(text ?? Number.NaN))
  return Number.isNaN(wanted) ? RECORDS.default : Math.min(Math.max(wanted, 1), RECORDS.most)
}

function show(entry: StoredAuditEntry): Static<typeof AuditRecord> {
  return {
    id: entry.id,
    time: isoTime(entry.time),
    user: entry.user?.name ?? null,
    user_type: entry.user?.type ?? null,
    user_id: entry.user?.id ?? null,
    address: entry.address,
    action: entry.action,
    object: entry.object,
    status: entry.status,
    request_id: entry.requestId,
    position: entry.position,
    hash: entry.hash,
    detail: entry.detail ?? null,
  }
}
