import type { FormModel } from '@holdfast/client'
import { expect, test } from 'vitest'
import { answersSummary, withoutPasswords } from '../../../control-plane/src/cli/ask/summary.js'

const field = (name: string, type = 'text', subform: string | null = null) => ({
  name,
  label: name.toUpperCase(),
  type,
  subform,
})
const ROW = [field('pw', 'password'), field('title'), field('more', 'list', 'row')]
const formOf = (...parts: { step: string | null; fields: object[] }[]) =>
  ({ name: 'f', description: null, parts, subforms: new Map([['row', ROW]]) }) as unknown as FormModel
const FORM = formOf(
  {
    step: null,
    fields: [field('pw', 'password'), field('n', 'number'), field('doc', 'file'), field('rows', 'list', 'row')],
  },
  { step: 'one', fields: [field('pw', 'password'), field('scan', 'file'), field('t')] },
)
const VALUES = {
  pw: 'secret',
  n: 0,
  rows: [{ pw: 'secret', title: 'a', more: [{ pw: 'secret', title: 'b' }] }, { title: 'c', pw: undefined }, 'no row'],
  one: { pw: 'secret', t: null },
}

test('the summary has a line for each answer, and no password', () => {
  const files = new Map([
    ['doc', '/d'],
    ['one.scan', '/s'],
    ['rows[0].x', '/r'],
  ])
  const lines = answersSummary(FORM, { values: VALUES, files })
  expect(lines).toEqual([
    'PW: ********',
    'N: 0',
    'DOC: /d',
    'ROWS: [{"pw":"********","title":"a","more":[{"pw":"********","title":"b"}]},{"title":"c"},"no row"]',
    'one: PW: ********',
    'one: SCAN: /s',
    'rows[0].x: /r',
  ])
  const stepOnly = answersSummary(FORM, { values: { one: {} }, files: new Map([['scan', '/s']]) })
  expect(stepOnly).toEqual(['one: SCAN: /s'])
  expect(answersSummary(FORM, { values: {}, files: new Map() })).toEqual(['(no values)'])
  expect(answersSummary(FORM, { values: { n: null, rows: 'text' }, files: new Map() })).toEqual(['ROWS: text'])
})

test('answers for a file have no passwords, and the places of those are told', () => {
  const { values, left } = withoutPasswords(FORM, VALUES)
  expect(values).toEqual({
    n: 0,
    rows: [{ title: 'a', more: [{ title: 'b' }] }, { title: 'c' }, 'no row'],
    one: { t: null },
  })
  expect(JSON.stringify(values)).not.toContain('secret')
  expect(left).toEqual(['pw', 'rows[0].pw', 'rows[0].more[0].pw', 'rows[1].pw', 'one.pw'])
  expect(withoutPasswords(FORM, { rows: 'text', other: { a: 1 } })).toEqual({
    values: { rows: 'text', other: { a: 1 } },
    left: [],
  })
})
