import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { FormEvaluation } from '../../jobs/launch/evaluate.js'
import { clientGone } from '../route/client-gone.js'
import { callerOf } from '../route/guards.js'
import { answers } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const AnyObject = Type.Record(Type.String(), Type.Unknown())

const Field = Type.Object({
  shown: Type.Boolean(),
  required: Type.Boolean(),
  value: Type.Optional(Type.Unknown({ description: 'What counts now; a password has none' })),
  choices: Type.Optional(Type.Array(Type.Unknown())),
  errors: Type.Array(Type.Object({ type: Type.String(), description: Type.String() })),
  waiting: Type.Optional(Type.String({ description: 'Why it could not be evaluated' })),
  asking: Type.Optional(
    Type.Boolean({
      description:
        'Its source, or that of a field that it needs, has not answered yet. Evaluate again to get the answer',
    }),
  ),
})

const RowPath = Type.Array(Type.Union([Type.String(), Type.Integer({ minimum: 0 })]), {
  maxItems: 20,
  description: 'Names and indexes that lead to a row: ["disks", 0]. In a wizard, the step comes first',
})

/** Rows of one evaluation at most. Each may have many choices. */
const MAX_SHOWN_ROWS = 20

const Evaluation = Type.Object(
  {
    fields: Type.Record(Type.String(), Field),
    rows: Type.Record(Type.String(), Type.Array(Type.Unknown()), {
      description: 'Errors of rows by field, as in the details of a refused launch',
    }),
    steps: Type.Record(
      Type.String(),
      Type.Object({
        shown: Type.Boolean(),
        waiting: Type.Optional(Type.String()),
        errors: Type.Array(Type.Object({ type: Type.String(), description: Type.String() })),
        fields: Type.Record(Type.String(), Field),
      }),
      { description: 'The steps of a wizard' },
    ),
    shownRows: Type.Optional(
      Type.Array(Type.Object({ row: RowPath, fields: Type.Record(Type.String(), Field) }), {
        description: 'The rows of `showRows` that are there',
      }),
    ),
    runs: Type.Object({
      runner: nullable(Type.String({ description: 'The runner, or that of the first step or node' })),
      problem: nullable(
        Type.String({
          description:
            'Why a launch with these values would be refused, or why its job or a child job would fail at once',
        }),
      ),
      refused: nullable(
        Type.String({ description: 'The code with which the launch would be refused. Null: a job would be made' }),
      ),
      extravars: Type.Record(Type.String(), Type.Unknown(), {
        description: 'What the playbook would get, with masks in place of secrets',
      }),
    }),
  },
  { title: 'FormEvaluation' },
)

/** The route that says what a launch would answer, while people fill in a form. */
export function evaluateRoutes(evaluation: FormEvaluation): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/forms/:name/evaluate',
      {
        // The action only reads, and pages call it while people type. So the audit trail has no record of it by
        // default.
        config: { longBody: true, audit: { action: 'form.evaluate.read', kind: 'form' } },
        schema: {
          tags: ['forms'],
          summary: 'What the answer to a launch with these values would be, without a launch',
          operationId: 'evaluateForm',
          params: Type.Object({ name: Type.String() }),
          body: Type.Object({
            rawFormData: Type.Optional(nullable(AnyObject)),
            extravars: Type.Optional(nullable(AnyObject)),
            credentials: Type.Optional(nullable(AnyObject)),
            files: Type.Optional(
              nullable(Type.Record(Type.String(), Type.Unknown(), { description: 'As in a launch' })),
            ),
            wait: Type.Optional(
              nullable(
                Type.Integer({
                  minimum: 0,
                  maximum: 60,
                  description: 'Seconds to wait for the sources that the form asks; default 1',
                }),
              ),
            ),
            showRows: Type.Optional(
              nullable(
                Type.Array(RowPath, {
                  maxItems: MAX_SHOWN_ROWS,
                  description: 'Rows of lists whose fields the answer shows, too',
                }),
              ),
            ),
            changed: Type.Optional(nullable(Type.String({ description: 'The field that was changed last' }))),
          }),
          response: answers(Evaluation, 400, 403, 404, 413, 422, 429),
        },
      },
      async (request, reply) => {
        const { rawFormData, extravars, credentials, files, wait, showRows } = request.body
        // A page closes the request when somebody types on. Then the evaluation must not count for the user any more.
        const signal = clientGone(reply)
        const asked = {
          formName: request.params.name,
          rawFormData: rawFormData ?? {},
          extravars: extravars ?? {},
          credentials: credentials ?? {},
          files: files ?? {},
          rowsToShow: showRows ?? [],
          waitMs: (wait ?? 1) * 1000,
          signal,
        }
        return (await evaluation.evaluate(callerOf(request), asked)) as never
      },
    )
  }
}
