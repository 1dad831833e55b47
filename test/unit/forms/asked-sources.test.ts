import { describe, expect, test } from 'vitest'
import type { Answer } from '../../../control-plane/src/sources/question.js'
import { questionKeyOf } from '../../../control-plane/src/sources/question.js'
import { check, formOf } from './check.js'

type Answers = (question: unknown) => Answer

/** Checks a form again and again with the answers to what it asks, until it asks nothing more. */
async function asked(fields: object[], values: Record<string, unknown>, answer: Answers, functions?: string) {
  const answers = new Map<string, Answer>()
  const questions: object[] = []
  for (;;) {
    const result = await check(formOf(fields), values, {
      answers,
      isShowing: true,
      ...(functions ? { functions } : {}),
    })
    if (result.asked === undefined) return { ...result, questions }
    for (const { question, ...more } of result.asked) {
      questions.push({ ...question, ...more })
      answers.set(questionKeyOf(question), answer(question))
    }
  }
}
const good = (value: unknown) => (): Answer => ({ ok: true, value }) as Answer
const QUERY = { name: 'q', type: 'expression', query: 'select $(a), $( b )' }
const WITH_A = [
  { name: 'a', default: 'x' },
  { name: 'b', default: 'y' },
]

describe('a field with a query', () => {
  test('asks with the text, the values and the database, whose name may have placeholders', async () => {
    const config = [{ name: 'db-$(a)', type: 'mysql', port: 5 }, '$(b)', null]
    const { questions, extravars } = await asked(
      [...WITH_A, { ...QUERY, dbConfig: config, cache: '5s' }],
      {},
      good([1]),
    )
    expect(questions).toEqual([
      {
        kind: 'query',
        config: [{ name: 'db-x', type: 'mysql', port: 5 }, 'y', null],
        origins: {
          isTyped: true,
          parts: {
            '/0/name': [[0, 3, 'author']],
            '/0/type': [[0, 5, 'author']],
            '/1': [],
          },
        },
        text: 'select $(a), $( b )',
        values: { a: 'x', b: 'y' },
        field: 'q',
        keepMs: 5000,
      },
    ])
    expect(extravars.q).toEqual([1])
  })

  test('has no value while the answer is not there, and says that it asks', async () => {
    const { details, shown } = await check(formOf([...WITH_A, QUERY]), {}, { isShowing: true })
    expect(details.validationErrors.q).toEqual([
      { type: 'waiting', description: 'it waits for the answer of its source' },
    ])
    expect(shown?.fields.q).toMatchObject({ asking: true })
  })

  test('asks nothing while a value is missing, unless it may miss', async () => {
    const fields = [{ name: 'a' }, { name: 'b', default: 'y' }]
    const waiting = await check(formOf([...fields, QUERY]), {})
    expect(waiting.asked).toBeUndefined()
    expect(waiting.details.waiting).toEqual(['q'])
    const missing = await asked([...fields, { ...QUERY, ignoreIncomplete: true }], {}, good(1))
    expect(missing.questions).toMatchObject([{ values: { a: null, b: 'y' }, keepMs: null }])
    const unnamed = await check(
      formOf([{ name: 'a' }, { ...QUERY, query: 'select 1', dbConfig: { name: '$(a)' } }]),
      {},
    )
    expect([unnamed.asked, unnamed.details.waiting]).toEqual([undefined, ['q']])
  })

  test('gives an answer to its filter, and what the filter gives is its value', async () => {
    const field = { ...QUERY, query: 'select 1', jq: '.a' }
    const answer: Answers = (question) =>
      ({ ok: true, value: (question as { kind: string }).kind === 'query' ? { a: 5 } : 'filtered' }) as Answer
    const { questions, extravars } = await asked([field], {}, answer)
    expect(questions).toMatchObject([
      { kind: 'query' },
      { kind: 'function', name: 'fnJq', given: [{ a: 5 }, '.a'], field: 'q' },
    ])
    expect(extravars.q).toBe('filtered')
    const empty = await asked([field], {}, good(null))
    expect(empty.questions).toMatchObject([{ kind: 'query' }])
  })

  test('waits with the reason when its source cannot answer', async () => {
    const { details, shown } = await asked([{ ...QUERY, query: 'select 1', jq: '.a' }], {}, () => ({
      ok: false,
      reason: 'it is away',
    }))
    expect(details.validationErrors.q).toEqual([{ type: 'waiting', description: 'it is away' }])
    expect(shown?.fields.q).not.toHaveProperty('asking')
  })
})

describe('an expression that asks', () => {
  const field = (more: object = {}) => ({
    name: 'e',
    type: 'expression',
    expression: "fn.fnReadYamlFile('a.yml')",
    ...more,
  })

  test('asks with what it gives, and goes on with the answer', async () => {
    const { questions, extravars } = await asked([field()], {}, good({ b: 1 }))
    expect(questions).toMatchObject([
      {
        kind: 'function',
        name: 'fnReadYamlFile',
        given: ['a.yml'],
        field: 'e',
      },
    ])
    expect(extravars.e).toEqual({ b: 1 })
    const first = await check(formOf([field()]), {}, { isShowing: true })
    expect(first.shown?.fields.e).toMatchObject({ asking: true, waiting: 'it waits for the answer of its source' })
  })

  test('fails with the reason when its source cannot answer', async () => {
    const { details } = await asked([field()], {}, () => ({ ok: false, reason: 'no such file' }))
    expect(details.validationErrors.e?.[0]?.description).toContain('no such file')
  })

  test('cannot ask where it is local, and then says that it failed', async () => {
    const { asked: questions, details } = await check(formOf([field({ runLocal: true })]), {})
    expect(questions).toBeUndefined()
    expect(details.validationErrors.e?.[0]?.description).toMatch(/^its expression failed: /)
  })
})
