import { expect, test } from 'vitest'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'
import { check, formOf } from './check.js'

/** Words of older forms. */
const WITH_QUERY = [{ name: 'vol', type: 'query', values: ['a', 'b'], required: true }]

test('query is an enum, and a pattern may be a text', async () => {
  expect((await check(formOf(WITH_QUERY), { vol: 'b' })).extravars).toEqual({ vol: 'b' })
  expect((await check(formOf(WITH_QUERY), { vol: 'c' })).details.invalid).toEqual(['vol'])
  const patterned = formOf([{ name: 'code', type: 'text', regex: '^[A-Z]+$' }])
  expect((await check(patterned, { code: 'x' })).details.invalid).toEqual(['code'])
  expect((await check(patterned, { code: 'X' })).extravars).toEqual({ code: 'X' })
})

test('a table with a subform is a list, and fields may be null', async () => {
  const table = formOf([{ name: 'disks', type: 'table', subform: 'disk' }], {
    disk: [{ name: 'size', type: 'number' }],
  })
  expect((await check(table, { disks: [{ size: 1 }] })).extravars).toEqual({ disks: [{ size: 1 }] })
  expect((await check(formOf(null), {})).extravars).toEqual({})
})

test('the error for a table of columns names its value, its line and the new type', () => {
  const text =
    'name: old\ntype: ansible\nplaybook: a.yml\nfields:\n  - name: disks\n    type: table\n    tableFields: []\n'
  const { errors } = parseFormFile('old.yml', text)
  expect(errors).toEqual([
    {
      file: 'old.yml',
      form: 'old',
      line: 6,
      reason: expect.stringMatching(/^fields\.0 type is "table".*type list$/) as string,
    },
  ])
})
