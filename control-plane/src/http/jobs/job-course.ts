import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Readable } from 'node:stream'
import { setImmediate as letOthersRun } from 'node:timers/promises'
import { Type } from 'typebox'
import { LETTERS, type TaskOutcome } from '../../jobs/course/outcomes.js'
import type { Courses } from '../../jobs/course/courses.js'
import { type Matrix, hostsOf, matrixOf, outlinePages } from '../../jobs/course/outline.js'
import { InvalidInputError } from '../../errors.js'
import type { OutputSearch } from '../../jobs/read/find-output.js'
import { readOutputPieces } from '../../jobs/read/output-pieces.js'
import type { JobReading } from '../../jobs/read/reading.js'
import { isEnded, jobStatusOf } from '../../jobs/record/status.js'
import { requireVisible } from '../../jobs/record/visibility.js'
import { JSON_TYPE, listText, streamOf, streamed } from '../route/long-answer.js'
import type { AnswerTurns } from '../route/answer-turns.js'
import { callerOf } from '../route/guards.js'
import { IdParams, answers, booleanText, idOf, integerText, textAnswers, wholeNumberOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'
import { jobFailuresRoute } from './job-failures.js'

/** What these routes need of other rooms. */
export interface JobCourseDependencies {
  readonly reading: JobReading
  readonly courses: Courses
  readonly search: OutputSearch
  readonly answerTurns: AnswerTurns
}

const tags = ['job']
const OUTCOMES = Object.keys(LETTERS).filter((word): word is TaskOutcome => word !== 'none')

const count = () => Type.Integer()

const OutlineRecord = Type.Object({
  id: Type.Integer({ description: '1, 2, 3 … in the order in which plays and tasks began' }),
  kind: Type.Enum(['play', 'task', 'handler']),
  play: nullable(Type.Integer({ description: 'The id of its play' })),
  name: nullable(Type.String()),
  role: nullable(Type.String()),
  path: nullable(Type.String()),
  order: Type.Integer({ description: 'Of the event with which it began' }),
  from: Type.Optional(nullable(Type.Integer({ description: 'The byte of the output at which its output begins' }))),
  to: Type.Optional(
    nullable(Type.Integer({ description: 'The byte at which it ends; null: at the end of the output' })),
  ),
  line: Type.Optional(nullable(Type.Integer({ description: 'Number of line ends before its output' }))),
  started: Type.String({ description: 'By the clock of the runner' }),
  ended: nullable(Type.String({ description: 'Time of its last result; null while more results may come' })),
  ok: count(),
  changed: count(),
  failed: count(),
  skipped: count(),
  unreachable: count(),
  ignored: count(),
  hosts: Type.Integer({ description: 'Hosts that began it or have a result' }),
})

const OutlineHost = Type.Object({
  host: Type.String(),
  started: Type.String({ description: 'By the clock of the runner' }),
  busy_ms: Type.Integer({ description: 'How long it was at tasks' }),
  spans: Type.Array(Type.Array(Type.Integer()), {
    description:
      'From and until when it was at tasks, in milliseconds after started. If there were many pauses, short ones are left out',
  }),
  since: nullable(Type.String({ description: 'It is at a task since then; null: it is at none' })),
  ok: count(),
  changed: count(),
  failed: count(),
  skipped: count(),
  unreachable: count(),
  ignored: count(),
})

const Outline = Type.Object(
  {
    count: Type.Integer(),
    records: Type.Array(OutlineRecord),
    last: Type.Integer({
      description: 'The order of the last event that is included: ask with after=last for changes',
    }),
    complete: Type.Boolean({ description: 'false: the run had more plays, tasks and hosts than are kept' }),
    hosts: Type.Optional(Type.Array(OutlineHost, { description: 'All hosts of the run, with hosts=true' })),
    recap: Type.Optional(
      nullable(
        Type.Object({
          order: Type.Integer(),
          from: nullable(Type.Integer()),
          line: nullable(Type.Integer()),
        }),
      ),
    ),
  },
  { title: 'JobOutline' },
)

const MatrixSchema = Type.Object(
  {
    hosts: Type.Array(Type.String()),
    tasks: Type.Array(Type.Integer(), { description: 'Ids of the outline' }),
    cells: Type.Array(Type.String(), {
      description: `A row for each task with a letter for each host: ${Object.entries(LETTERS)
        .map(([word, letter]) => `${letter} ${word}`)
        .join(', ')}`,
    }),
    complete: Type.Boolean({ description: 'false: the run had more hosts and tasks than are kept' }),
  },
  { title: 'JobMatrix' },
)

const Found = Type.Object(
  {
    count: Type.Integer(),
    complete: Type.Boolean({ description: 'The output was searched to its end' }),
    hits: Type.Array(Type.Array(Type.Integer()), {
      description: 'By hit: the number of line ends before it, and its byte',
    }),
    next: nullable(Type.Integer({ description: 'Search on with from=next' })),
  },
  { title: 'OutputHits' },
)

/** Routes for the course of a run: its plays and tasks, their results at each host, and searches in its output. */
export function jobCourseRoutes({
  reading,
  courses,
  search,
  answerTurns,
}: JobCourseDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job/:id/outline',
      {
        config: { audit: { action: 'job.outline.read', kind: 'job' } },
        schema: {
          tags,
          summary: 'The plays and tasks of a playbook job, in the order in which they began',
          description: 'The header X-Run-Id names the run of which they are.',
          params: IdParams,
          querystring: Type.Object({
            after: Type.Optional(integerText('Only what events after this order changed')),
            hosts: Type.Optional(booleanText('true: also the times in which each host was at tasks')),
          }),
          response: answers(streamed(Outline), 400, 403, 404),
        },
      },
      async (request, reply) => {
        const after = wholeNumberOf(request.query.after ?? '0', 'after')
        const job = await requireVisible(reading.queries, callerOf(request), idOf(request.params))
        const course = await courses.of(job.id)
        const isOver = isEnded(jobStatusOf(job.status))
        const pages = outlinePages(course, after, isOver)
        const hosts = request.query.hosts === 'true' ? { hosts: hostsOf(course, isOver) } : null
        const more = { last: course.position, complete: course.isComplete, recap: course.recap, ...hosts }
        await reply
          .header('x-run-id', job.run_id)
          .type(JSON_TYPE)
          .send(await streamOf(listText(pages, more), answerTurns(request)))
        return reply
      },
    )

    app.get(
      '/job/:id/matrix',
      {
        config: { audit: { action: 'job.matrix.read', kind: 'job' } },
        schema: {
          tags,
          summary: 'What came of each task at each host',
          params: IdParams,
          querystring: Type.Object({
            hosts: Type.Optional(Type.String({ description: 'Only these hosts, with commas' })),
            tasks: Type.Optional(Type.String({ description: 'Only the tasks with these ids, with commas' })),
            outcome: Type.Optional(
              Type.String({ description: `Only tasks and hosts with one of these, with commas: ${OUTCOMES.join()}` }),
            ),
          }),
          response: answers(streamed(MatrixSchema), 400, 403, 404),
        },
      },
      async (request, reply) => {
        const { hosts, tasks, outcome } = request.query
        const filter = {
          hosts: hosts?.split(','),
          tasks: tasks?.split(',').map((id) => wholeNumberOf(id, 'tasks')),
          outcomes: outcome?.split(',').map(askedOutcome),
        }
        const job = await requireVisible(reading.queries, callerOf(request), idOf(request.params))
        const course = await courses.of(job.id)
        const matrix = matrixOf(course, filter, isEnded(jobStatusOf(job.status)))
        await reply.type(JSON_TYPE).send(await streamOf(matrixText(matrix, course.isComplete), answerTurns(request)))
        return reply
      },
    )

    await app.register(searchRoute({ reading, search }))
    await app.register(piecesRoute({ reading, courses }))
    await app.register(jobFailuresRoute({ reading, courses }))
  }
}

/** The output of one host or one task. */
function piecesRoute({
  reading,
  courses,
}: Pick<JobCourseDependencies, 'reading' | 'courses'>): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job/:id/output/pieces',
      {
        config: { audit: { action: 'job.output.pieces.read', kind: 'job' } },
        schema: {
          tags,
          summary: 'What was printed for a host, for a task, or for a task at a host',
          description:
            '409 output_without_marks: the output has no marks, because its ansible prints everything at the end.',
          params: IdParams,
          querystring: Type.Object({
            host: Type.Optional(Type.String({ description: 'Only what was printed for this host' })),
            task: Type.Optional(integerText('Only what was printed for the task or play with this id of the outline')),
          }),
          response: textAnswers({ description: 'The pieces in the order of the output' }, 400, 403, 404, 409),
        },
      },
      async (request, reply) => {
        const { host, task } = request.query
        const pieces = await readOutputPieces({ reading, courses }, callerOf(request), idOf(request.params), {
          host,
          task: task === undefined ? undefined : wholeNumberOf(task, 'task'),
        })
        await reply.type('text/plain; charset=utf-8').send(Readable.from(pieces, { objectMode: false }))
        return reply
      },
    )
  }
}

/** The places of a text in the output. */
function searchRoute({
  reading,
  search,
}: Pick<JobCourseDependencies, 'reading' | 'search'>): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job/:id/output/search',
      {
        config: { audit: { action: 'job.output.search.read', kind: 'job' } },
        schema: {
          tags,
          summary: 'Where a text stands in the output',
          description:
            'A search takes a second at most; next says where to go on. A user may have two searches at the same time (429).',
          params: IdParams,
          querystring: Type.Object({
            q: Type.String({ description: 'Literal text' }),
            case: Type.Optional(booleanText('true: large and small letters are different')),
            from: Type.Optional(integerText('The byte from which on; 0 when left out')),
            limit: Type.Optional(integerText('Most hits of the answer: 1000 when left out, at most 10000')),
          }),
          response: answers(Found, 400, 403, 404, 429),
        },
      },
      async (request) => {
        const caller = callerOf(request)
        const { q: text, case: isExact, from = '0', limit } = request.query
        const id = idOf(request.params)
        await requireVisible(reading.queries, caller, id)
        const found = await search.find(`${caller.type}/${caller.username}`, id, {
          text,
          isExact: isExact === 'true',
          from: wholeNumberOf(from, 'from'),
          limit: limit === undefined ? undefined : wholeNumberOf(limit, 'limit'),
        })
        return { ...found, hits: found.hits.map((hit) => [...hit]) }
      },
    )
  }
}

function askedOutcome(word: string): TaskOutcome {
  const outcome = OUTCOMES.find((known) => known === word)
  if (outcome) return outcome
  throw new InvalidInputError('invalid_outcome', `outcome must be of ${OUTCOMES.join(', ')}`, { outcome: word })
}

/** The JSON of a matrix, in parts, because it may have millions of cells. */
async function* matrixText({ hosts, tasks, rows }: Matrix, complete: boolean): AsyncGenerator<string> {
  let text = `{"hosts":${JSON.stringify(hosts)},"tasks":${JSON.stringify(tasks)},"cells":[`
  let comma = ''
  for (const row of rows) {
    text += `${comma}${JSON.stringify(row)}`
    comma = ','
    if (text.length < 64 * 1024) continue
    yield text
    text = ''
    await letOthersRun()
  }
  yield `${text}],"complete":${complete}}`
}
