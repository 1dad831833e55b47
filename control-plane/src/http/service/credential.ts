import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { shownName } from '../../auth/sessions/shown-name.js'
import { CREDENTIAL_TYPES, CredentialInput, CredentialOptions } from '../../credentials/stored/credential.js'
import { SHOWN_SECRET } from '../../credentials/stored/changes.js'
import type { Credentials } from '../../credentials/stored/credentials.js'
import type { ListedCredential } from '../../credentials/stored/row.js'
import { noteAudit } from '../route/audit-hook.js'
import { adminOf, requireAdmin, requireAdminFor } from '../route/guards.js'
import { IdParams, Message, answers, idOf, listOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const Credential = Type.Object(
  {
    id: nullable(Type.Integer({ description: 'Null for a credential of credentials.yaml' })),
    name: Type.String(),
    type: Type.Enum([...CREDENTIAL_TYPES]),
    user: nullable(Type.String()),
    password: Type.String({ description: 'Always ********' }),
    host: nullable(Type.String()),
    port: nullable(Type.Integer()),
    description: Type.String(),
    options: Type.Optional(CredentialOptions),
    source: Type.Enum(['database', 'file'], { description: 'Those of the file are changed in the file' }),
    overridden: Type.Boolean({
      description: 'True when credentials.yaml has a credential of the same name, which wins',
    }),
  },
  { title: 'Credential' },
)

const CredentialList = Type.Object(
  {
    ...listOf(Credential).properties,
    errors: Type.Array(Type.Object({ file: Type.String(), line: nullable(Type.Integer()), reason: Type.String() }), {
      description: 'Entries of credentials.yaml that were left out',
    }),
  },
  { title: 'CredentialList' },
)

const tags = ['credentials']

/** Routes for credentials, for admins. They accept secrets, but no answer contains one. */
export function credentialRoutes({ credentials }: { readonly credentials: Credentials }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/credential',
      {
        onRequest: requireAdmin,
        schema: {
          tags,
          summary: 'All credentials (admin)',
          operationId: 'listCredentials',
          response: answers(CredentialList, 403),
        },
      },
      async () => {
        const records = (await credentials.list()).map(show)
        return { count: records.length, records, errors: [...(await credentials.problems())] }
      },
    )

    app.post(
      '/credential',
      {
        onRequest: requireAdmin,
        schema: {
          tags,
          summary: 'Add a credential (admin)',
          body: CredentialInput,
          response: answers(Credential, 400, 403, 409),
        },
      },
      async (request) => {
        const made = await credentials.create(request.body, shownName(adminOf(request)))
        noteAudit(request, { name: made.name })
        return show(made)
      },
    )

    await app.register(oneCredentialRoutes({ credentials }))
  }
}

/** One credential. */
function oneCredentialRoutes({ credentials }: { readonly credentials: Credentials }): FastifyPluginAsyncTypebox {
  const requireAdminForCredential = requireAdminFor(async (id, request) => {
    noteAudit(request, { name: (await credentials.find(id)).name })
  })
  return async (app) => {
    app.get(
      '/credential/:id',
      {
        onRequest: requireAdminForCredential,
        schema: {
          tags,
          summary: 'One credential (admin)',
          params: IdParams,
          response: answers(Credential, 400, 403, 404),
        },
      },
      async (request) => show(await credentials.find(idOf(request.params))),
    )

    app.put(
      '/credential/:id',
      {
        onRequest: requireAdminForCredential,
        schema: {
          tags,
          summary: 'Change the given properties of a credential (admin); without a password the stored one stays',
          params: IdParams,
          body: Type.Partial(CredentialInput),
          response: answers(Credential, 400, 403, 404, 409),
        },
      },
      async (request) =>
        show(await credentials.change(idOf(request.params), request.body, shownName(adminOf(request)))),
    )

    app.delete(
      '/credential/:id',
      {
        onRequest: requireAdminForCredential,
        schema: {
          tags,
          summary: 'Delete a credential (admin); waiting jobs that need it will fail',
          params: IdParams,
          response: answers(Message, 400, 403, 404),
        },
      },
      async (request) => {
        const admin = adminOf(request)
        await credentials.remove(idOf(request.params), shownName(admin))
        return { message: 'The credential was deleted' }
      },
    )
  }
}

/** Field by field, so that no other field gets into the answer by mistake. */
function show(credential: ListedCredential) {
  const { id, name, type, user, host, port, description, options, source, overridden } = credential
  const more = Object.keys(options).length > 0 ? { options } : {}
  return { id, name, type, user, password: SHOWN_SECRET, host, port, description, ...more, source, overridden }
}
