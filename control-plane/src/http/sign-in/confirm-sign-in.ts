import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { ExternalSignIn } from '../../auth/sign-in/external-sign-in.js'
import { noteUser } from './auth.js'
import { CONFIRM_HEADERS, confirmPage } from './confirm-page.js'
import { clearedFlowCookie, flowCookieOf } from './flow-cookie.js'
import { LIMITED } from '../route/rate-limit.js'
import { sendsOn, withQuery } from './sent-on.js'
import { textAnswers } from '../route/schemas.js'

const Tag = Type.String({ pattern: '^[0-9a-f]{16}$', description: 'Which sign-in of this browser' })

const Answer = Type.Object({
  sign_in: Tag,
  ticket: Type.String({ minLength: 1, maxLength: 200, description: 'From the page with the question' }),
  answer: Type.Enum(['yes', 'no']),
})

/** The question whether a program that opened the browser may be signed in, and its answer. */
export function confirmRoutes(deps: {
  readonly signIn: Pick<ExternalSignIn, 'questions' | 'codes'>
  readonly publicUrl: string | null
}): FastifyPluginAsyncTypebox {
  const { signIn, publicUrl } = deps
  return async (app) => {
    app.get(
      '/auth/confirm',
      {
        config: { public: true, ...LIMITED },
        schema: {
          tags: ['sign-in'],
          summary: 'The page that asks whether the command line may be signed in',
          operationId: 'askSignIn',
          security: [],
          querystring: Type.Object({ sign_in: Tag }),
          response: textAnswers({ type: 'text/html', description: 'A page with a question' }, 400, 401, 429),
        },
      },
      async (request, reply) => {
        const tag = request.query.sign_in
        const asked = await signIn.questions.read(cookieOf(request.headers.cookie, tag))
        return reply.headers(CONFIRM_HEADERS).send(Buffer.from(confirmPage(asked, tag, publicUrl ?? '')))
      },
    )

    app.post(
      '/auth/confirm',
      {
        config: { public: true, ...LIMITED, audit: { action: 'auth.confirm', kind: 'session' } },
        schema: {
          tags: ['sign-in'],
          summary: 'The answer: sends the browser back to the command line, with a code or without',
          operationId: 'answerSignIn',
          security: [],
          body: Answer,
          response: sendsOn(400, 401, 429),
        },
      },
      async (request, reply) => {
        const { sign_in: tag, ticket, answer } = request.body
        const { user, question } = await signIn.questions.answered(cookieOf(request.headers.cookie, tag), ticket)
        noteUser(request, user)
        reply.header('set-cookie', clearedFlowCookie('question', tag, publicUrl))
        const { redirect, challenge } = question
        const said: Record<string, string> =
          answer === 'yes'
            ? { code: await signIn.codes.give(user, challenge) }
            : { error: 'sign_in_refused', error_description: 'You said no in the browser' }
        const location = withQuery(redirect, said)
        return reply.code(302).header('location', location).send({ location })
      },
    )
  }

  function cookieOf(header: string | undefined, tag: string): string | undefined {
    return flowCookieOf(header, { kind: 'question', tag }, publicUrl)
  }
}
