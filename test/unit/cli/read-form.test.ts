import type { Client } from '@holdfast/client'
import { describe, expect, test } from 'vitest'
import { fetchForm, fieldGroupsOf, formHeadOf } from '../../../control-plane/src/cli/commands/form/read-form.js'

describe('the head of a form', () => {
  const NONE = { type: null, description: null }

  test.each<[object, object]>([
    [{}, NONE],
    [
      { type: 'ansible', description: 'It runs.' },
      { type: 'ansible', description: 'It runs.' },
    ],
    [{ type: 7, description: ['a'], timeout: [], concurrency: 'many' }, NONE],
    [{ timeout: null, concurrency: null }, NONE],
    [{ timeout: 90 }, { ...NONE, timeout: '90 s' }],
    [{ timeout: '2h' }, { ...NONE, timeout: '2h' }],
    [{ concurrency: { group: 'g' } }, { ...NONE, concurrency: '1 at once in the group g; the others wait' }],
    [
      { concurrency: { group: 'g', limit: 3, on: 'queue' } },
      { ...NONE, concurrency: '3 at once in the group g; the others wait' },
    ],
    [
      { concurrency: { group: 'g', limit: 2, on: 'refuse' } },
      { ...NONE, concurrency: '2 at once in the group g; a launch beyond that is refused' },
    ],
  ])('of %j is %j', (form, head) => {
    expect(formHeadOf(form)).toEqual(head)
  })
})

describe('a field of a form', () => {
  const only = (field: object) => fieldGroupsOf({ fields: [field] })[0]?.fields[0]

  test('without properties is an optional text for one value, without rules', () => {
    const field = only({})
    expect(field).toMatchObject({ name: '', type: 'text', required: false, multiple: false, values: null })
    const rest = Object.entries(field ?? {}).filter(([name]) => !/^(name|type|required|multiple)$/.test(name))
    expect(rest.filter(([, value]) => value !== null)).toEqual([])
  })

  test('with a property of another kind counts as one without it', () => {
    const wrong = { name: 1, type: [], label: 2, help: {}, required: 'yes', multiple: 1, values: 'a', valueColumn: 3 }
    const rules = { minValue: [], maxLength: {}, regex: 5, in: 'list', sameAs: 1, dependencies: [{ values: [1] }] }
    expect(only({ ...wrong, ...rules })).toEqual(only({}))
  })

  test('keeps what it has', () => {
    const field = {
      name: 'n',
      type: 'number',
      label: 'N',
      help: 'h',
      required: true,
      multiple: true,
      default: 0,
      values: [1],
      valueColumn: 'c',
      minValue: 1,
      maxValue: '$(a)',
      regex: { expression: '^a', description: null },
      in: { field: 'l' },
      dateType: 'week',
      subform: 'S',
      dependencies: [
        { name: 'a', values: ['x'] },
        { name: 'b', isValid: false },
      ],
    }
    expect(only(field)).toMatchObject(field)
    expect(only({ regex: '^a' })?.regex).toBe('^a')
  })
})

describe('the fields of a form are grouped', () => {
  /** Each group: under which name, whether of rows, and the names of its fields. */
  const groups = (form: object) =>
    fieldGroupsOf(form).map(({ under, isRows, fields }) => [under, isRows, fields.map(({ name }) => name).join(' ')])

  test('first its own, then those of its lists and of lists inside of them', () => {
    const subforms = [
      { name: 'R', fields: [{ name: 'a' }, { name: 'more', subform: 'Q' }, { name: 'again', subform: 'R' }] },
      { name: 'Q', fields: [{ name: 'b' }, { name: 'back', subform: 'R' }] },
    ]
    const fields = [
      { name: 'x' },
      { name: 'l', subform: 'R' },
      { name: 'm', subform: 'Q' },
      { name: 'n', subform: 'gone' },
    ]
    expect(groups({ fields, subforms })).toEqual([
      [null, false, 'x l m n'],
      ['l', true, 'a more again'],
      ['l.more', true, 'b back'],
      ['m', true, 'b back'],
      ['m.back', true, 'a more again'],
      ['n', true, ''],
    ])
  })

  test('by the steps of its wizard, under the name of the step or its form', () => {
    const subforms = [{ name: 'S', fields: [{ name: 'a' }, { name: 'l', subform: 'T' }, { name: 's', subform: 'S' }] }]
    const wizard = [
      { name: 'one', subform: 'S' },
      { subform: 'T', optional: true },
    ]
    expect(groups({ wizard, subforms })).toEqual([
      [null, false, ''],
      ['one', false, 'a l s'],
      ['one.l', true, ''],
      ['T', false, ''],
    ])
  })
})

describe('a form that is asked for', () => {
  const client = (forms: readonly object[]) =>
    ({ getForm: ({ name }: { name: string }) => Promise.resolve({ forms, name }) }) as unknown as Client

  test('is the first of the answer, and none is named in the error', async () => {
    expect(await fetchForm(client([{ name: 'f' }, { name: 'g' }]), 'f')).toEqual({ name: 'f' })
    await expect(fetchForm(client([]), 'f')).rejects.toThrow(
      'There is no form "f" that you may launch; see holdfast form list.',
    )
  })
})
