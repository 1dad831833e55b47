import type { Client, FormField, FormModel } from '@holdfast/client'
import { describe, expect, test } from 'vitest'
import { Judge, type Place } from '../../../control-plane/src/cli/ask/judge.js'
import { RefusedError } from '../../../control-plane/src/cli/errors.js'

const field = (name: string, type = 'text', subform: string | null = null) =>
  ({ name, type, subform }) as unknown as FormField
const FORM = {
  name: 'f',
  subforms: new Map([['row', [field('a'), field('doc', 'file'), field('more', 'list', 'row')]]]),
} as unknown as FormModel
const place = (kind: Place['kind'], ...path: (string | number)[]): Place => ({ kind, path, fields: [], values: {} })
const ROOT = place('form')

/** A judge whose control plane answers with these evaluations, the last one again and again; an error is thrown. */
function judgeWith(...answers: (object | Error)[]) {
  const asked: { name: string; body: Record<string, unknown> }[] = []
  const evaluateForm = (question: (typeof asked)[number]) => {
    asked.push(question)
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    return answer instanceof Error
      ? Promise.reject(answer)
      : Promise.resolve({ fields: {}, steps: {}, rows: {}, ...answer })
  }
  const client = { evaluateForm } as unknown as Pick<Client, 'evaluateForm'>
  return { judge: new Judge(client, FORM, new Map([['doc', '/d']])), asked }
}
const said = (description: string) => ({
  validationErrors: { a: [{ description }], doc: [{ description: 'no upload' }] },
})

describe('what the control plane says of a field', () => {
  test('is looked for where the field is: in the form, its step, or the row that it was asked to show', async () => {
    const [own, inStep, inRow] = [
      { shown: true, value: 1 },
      { shown: true, value: 2 },
      { shown: true, value: 3 },
    ]
    const { judge, asked } = judgeWith({
      fields: { a: own },
      steps: { one: { shown: true, fields: { a: inStep } }, two: { shown: false, fields: {} } },
      shownRows: [{ fields: { a: inRow } }],
    })
    const verdict = (where: Place, name = 'a') => judge.verdict(where, field(name), () => undefined)
    expect([await verdict(ROOT), await verdict(place('step', 'one')), await verdict(place('row', 'l', 0))]).toEqual([
      own,
      inStep,
      inRow,
    ])
    expect([await verdict(ROOT, 'b'), await verdict(place('step', 'gone'))]).toEqual([null, null])
    expect([await judge.isStepShown('one'), await judge.isStepShown('two'), await judge.isStepShown('gone')]).toEqual([
      true,
      false,
      true,
    ])
    const body = { rawFormData: {}, files: { doc: { path: '/d' } } }
    expect(asked.slice(0, 3)).toEqual([
      { name: 'f', body },
      { name: 'f', body },
      { name: 'f', body: { ...body, showRows: [['l', 0]] } },
    ])
  })

  test('is waited for while its source is asked: six times, and the person is told once', async () => {
    const asking = { fields: { a: { asking: true } } }
    const slow = judgeWith(asking)
    let told = 0
    expect(await slow.judge.verdict(ROOT, field('a'), () => (told += 1))).toEqual({ asking: true })
    expect([told, slow.asked.length]).toEqual([1, 7])
    expect(slow.asked.map(({ body }) => body.wait)).toEqual([undefined, 10, 10, 10, 10, 10, 10])
    const quick = judgeWith({ fields: { a: { value: 1 } } })
    expect(await quick.judge.verdict(ROOT, field('a'), () => (told += 1))).toEqual({ value: 1 })
    expect([told, quick.asked.length]).toEqual([1, 1])
    const later = judgeWith(asking, { fields: { a: { value: 2 } } })
    expect(await later.judge.verdict(ROOT, field('a'), () => (told += 1))).toEqual({ value: 2 })
    expect([told, later.asked.length]).toEqual([2, 2])
  })

  test('is not asked for again when it refuses for another reason than too many questions', async () => {
    for (const error of [new RefusedError('No.', 403, null), new Error('away')]) {
      const { judge, asked } = judgeWith(error)
      await expect(judge.isStepShown('one')).rejects.toBe(error)
      expect(asked).toHaveLength(1)
    }
  })
})

describe('what is wrong with a value', () => {
  const evaluation = {
    fields: { l: { errors: [{ description: 'is too short' }] }, doc: { errors: [{ description: 'no upload' }] } },
    steps: { one: { shown: true, fields: {} } },
    rows: {
      l: [
        { index: 0, ...said('A') },
        { index: 2, ...said('B'), rowErrors: { more: [{ index: 1, ...said('C') }] } },
      ],
      'one.l': [{ index: 0, ...said('D') }],
      o: [said('E')],
    },
  }
  const list = field('l', 'list', 'row')

  test('is told of the field and its rows, counted from one, without the files', async () => {
    const { judge } = judgeWith(evaluation)
    expect(await judge.errors(ROOT, list)).toEqual(['is too short', 'row 1: A', 'row 3: B', 'row 3: more: row 2: C'])
    expect(await judge.errors(ROOT, field('o', 'yaml', 'row'))).toEqual(['E'])
    expect(await judge.errors(ROOT, field('other'))).toEqual([])
  })

  test('is found for a list in a step, and for one in a row', async () => {
    const { judge } = judgeWith(evaluation)
    expect(await judge.errors(place('step', 'one'), list)).toEqual(['row 1: D'])
    expect(await judge.errors(place('row', 'l', 2), field('more', 'list', 'row'))).toEqual(['row 2: C'])
    expect(await judge.errors(place('row', 'l', 0), field('more', 'list', 'row'))).toEqual([])
    expect(await judge.errors(place('row', 'l', 1), field('more', 'list', 'row'))).toEqual([])
  })

  test('is not asked for a file', async () => {
    const { judge, asked } = judgeWith(evaluation)
    expect(await judge.errors(ROOT, field('doc', 'file'))).toEqual([])
    expect(asked).toEqual([])
  })
})
