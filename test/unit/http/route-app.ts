import fastify, { type FastifyPluginAsync } from 'fastify'
import type { AuditNote, AuditRecord } from '../../../control-plane/src/audit/trail.js'
import type { Caller } from '../../../control-plane/src/auth/sessions/caller.js'
import { registerErrorHandling } from '../../../control-plane/src/http/server/errors.js'
import { compileSchemasLate } from '../../../control-plane/src/http/server/late-schemas.js'

/** A user with no roles. */
export const ANN: Caller = {
  id: 7,
  username: 'ann',
  type: 'local',
  email: null,
  groups: [],
  roles: ['default'],
  rolesWithheld: [],
  isLaterOfName: false,
  options: {} as Caller['options'],
  pageOptions: {} as Caller['pageOptions'],
  isAdmin: false,
  allowedRunners: null,
  allowedCredentials: null,
  sessionId: 's1',
  tokenScopes: null,
  scopes: null,
  passwordMustChange: false,
}

export const ADMIN: Caller = { ...ANN, id: 1, username: 'root', isAdmin: true, sessionId: 's2' }

export interface RouteAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Record<string, unknown>
  readonly bytes: Buffer
}

/** Some routes alone, with their checks and errors, called by a user who needs no token. */
export async function routeApp(plugin: FastifyPluginAsync, caller: Caller | null = ANN) {
  const app = fastify()
  compileSchemasLate(app, { coerceTypes: false, removeAdditional: false, useDefaults: true, allErrors: false })
  registerErrorHandling(app)
  app.decorateRequest('caller', null)
  app.decorateRequest('audit', null)
  const notes: AuditNote[] = []
  const ends: number[] = []
  app.addHook('onRequest', async (request) => {
    request.caller = caller
    const record: AuditRecord = {
      note: (note) => void notes.push(note),
      get noted() {
        return Object.assign({}, ...notes) as AuditNote
      },
      run: (handle) => handle(),
      finish: (status) => void ends.push(status),
    }
    request.audit = record
  })
  await app.register(plugin, { prefix: '/api/v2' })
  await app.ready()
  return {
    app,
    /** What was noted for the audit trail, by all calls. */
    noted: () => Object.assign({}, ...notes) as AuditNote,
    /** The statuses with which records were ended by hand. */
    ends,
    async call(
      method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD',
      path: string,
      { json, headers = {} }: { readonly json?: object; readonly headers?: Readonly<Record<string, string>> } = {},
    ): Promise<RouteAnswer> {
      const sent = json === undefined ? {} : { payload: json }
      const answer = await app.inject({ method, url: `/api/v2${path}`, headers, ...sent })
      const isJson = String(answer.headers['content-type']).includes('json')
      return {
        status: answer.statusCode,
        headers: answer.headers,
        body: isJson ? answer.json<Record<string, unknown>>() : {},
        bytes: answer.rawPayload,
      }
    },
  }
}
