import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Caller } from '../../auth/sessions/caller.js'
import type { AskFieldRequest } from '../../jobs/launch/ask-field.js'
import { clientGone } from '../route/client-gone.js'
import { callerOf } from '../route/guards.js'
import { answers } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const Name = Type.Optional(nullable(Type.String({ maxLength: 200 })))

const Body = Type.Object({
  formName: Name,
  subformName: Name,
  fieldName: Name,
  values: Type.Optional(
    nullable(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'The values for the placeholders of the field; constants and the user come from the control plane',
      }),
    ),
  ),
})

/** Computes the expression or query of one field. */
export type AskField = (caller: Caller, request: AskFieldRequest) => Promise<unknown>

/** The routes by which pages of the product family ask for the value of one field. */
export function askFieldRoutes(ask: AskField): FastifyPluginAsyncTypebox {
  return async (app) => {
    const routes = [
      ['/expression', 'server', 'evaluateExpression', 'form.expression.read', 'expression'],
      ['/query', 'query', 'runQuery', 'form.query.read', 'query'],
    ] as const
    for (const [path, kind, operationId, action, noun] of routes) {
      app.post(
        path,
        {
          config: { longBody: true, audit: { action, kind: 'form' } },
          schema: {
            tags: ['forms'],
            summary: `What the ${noun} of a field of a form gives; its text is that of the form`,
            operationId,
            body: Body,
            response: answers(
              Type.Unknown({ description: 'The value; null when there is none' }),
              400,
              403,
              404,
              413,
              422,
              429,
            ),
          },
        },
        async (request, reply) => {
          const { formName, subformName, fieldName, values } = request.body
          const asked = {
            kind,
            formName: formName || null,
            subformName: subformName || null,
            fieldName: fieldName ?? '',
            values: values ?? {},
            signal: clientGone(reply),
          }
          const value = (await ask(callerOf(request), asked)) ?? null
          // A text is a JSON text here, too.
          const json = reply.type('application/json; charset=utf-8').serializer((text: string) => text)
          return json.send(JSON.stringify(value) as never)
        },
      )
    }
  }
}
