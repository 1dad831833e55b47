import { describe, expect, test } from 'vitest'
import { questionKeyOf } from '../../../control-plane/src/sources/question.js'
import { check, formOf } from './check.js'

const GONE = 'it calls a function that this service does not have'
const one = async (field: object, values: Record<string, unknown> = {}) => {
  const { details, extravars } = await check(formOf([{ name: 'f', ...field }]), values)
  return { value: extravars.f, why: details.validationErrors.f?.map(({ description }) => description) }
}

describe.each(['expression', 'enum'])('a field of type %s whose source gives nothing', (type) => {
  const remote = { type, expression: 'fn.fnGone()' }
  const broken = { type, expression: 'gone.by', runLocal: true }
  const asking = { type, query: 'select 1' }

  test('waits, and takes no sent value', async () => {
    expect(await one(remote, { f: 'x' })).toEqual({ value: undefined, why: [GONE] })
    expect((await one(broken, { f: 'x' })).why?.[0]).toMatch(/^its expression failed: /)
  })

  test('takes what a person enters, or the default, when it may be edited', async () => {
    for (const source of [remote, broken]) {
      expect(await one({ ...source, editable: true }, { f: 'x' })).toEqual({ value: 'x', why: undefined })
      expect(await one({ ...source, editable: true, default: 'd' })).toEqual({ value: 'd', why: undefined })
      expect(await one({ ...source, editable: true })).toEqual({ value: undefined, why: undefined })
    }
  })

  test('takes no default while the source is being asked, also when it may be edited', async () => {
    const waits = { value: undefined, why: ['it waits for the answer of its source'] }
    expect(await one({ ...asking, editable: true, default: 'd' })).toEqual(waits)
    if (type === 'enum') expect(await one({ ...asking, editable: true }, { f: 'x' })).toEqual(waits)
  })
})

describe('a choice', () => {
  test('of a source that failed is none when it is a word with a meaning', async () => {
    for (const source of [{ expression: 'fn.fnGone()' }, { expression: 'gone.by', runLocal: true }]) {
      const field = { type: 'enum', editable: true, default: '__auto__', ...source }
      expect(await one(field)).toEqual({ value: undefined, why: undefined })
    }
  })

  test('of a query may be another value only when it may be edited', async () => {
    const answers = new Map()
    const { asked } = await check(formOf([{ name: 'f', type: 'enum', query: 'q' }]), {})
    for (const { question } of asked ?? []) answers.set(questionKeyOf(question), { ok: true, value: ['a'] })
    const form = (more: object) => formOf([{ name: 'f', type: 'enum', query: 'q', ...more }])
    expect((await check(form({ editable: true }), { f: 'x' }, { answers })).extravars.f).toBe('x')
    expect((await check(form({}), { f: 'x' }, { answers })).details.invalid).toEqual(['f'])
    expect(await one({ type: 'enum', values: ['a'], editable: true }, { f: 'x' })).toMatchObject({
      why: ['f: this choice is not among the options'],
    })
  })

  test('says why it is refused, and chooses nothing when only its default is no option', async () => {
    const field = { type: 'enum', values: ['a', 'b'] }
    expect((await one(field, { f: ['a', 'b'] })).why).toEqual(['f: one choice is expected'])
    expect((await one(field, { f: 'c' })).why).toEqual(['f: this choice is not among the options'])
    expect(await one({ ...field, default: 'c' })).toEqual({ value: undefined, why: undefined })
    expect((await one({ type: 'enum', expression: "'text'", runLocal: true })).why).toEqual(['its options are no list'])
  })
})

describe('a list', () => {
  const SUBFORM = {
    row: [
      { name: 'a', required: true },
      { name: 'doc', type: 'file' },
    ],
  }
  const list = (more: object = {}) => formOf([{ name: 'l', type: 'list', subform: 'row', ...more }], SUBFORM)
  const upload = { originalname: 'f', size: 1, description: { path: '/p' } }

  test.each([[null], ['']])('that is sent as %j has no rows', async (l) => {
    const { details, extravars } = await check(list({ default: [{ a: 'x' }] }), { l })
    expect(details.invalid).toEqual([])
    expect(extravars).toEqual({})
  })

  test('that is no list is refused', async () => {
    for (const l of ['text', { a: 'x' }, 0]) expect((await check(list(), { l })).details.invalid).toEqual(['l'])
  })

  test('has a file for each of its rows, and none for a row behind them', async () => {
    const values = { l: [{ a: '1' }, { a: '2' }] }
    const fine = await check(list(), values, { uploads: { 'l[1].doc': upload } })
    expect(fine.details.invalid).toEqual([])
    expect(fine.extravars.l).toEqual([{ a: '1' }, { a: '2', doc: { path: '/p' } }])
    const { details } = await check(list(), values, { uploads: { 'l[2].doc': upload } })
    expect(details.validationErrors.l).toEqual([{ type: 'no_row', description: 'l[2].doc: the list has no row [2]' }])
    const none = await check(list(), {}, { uploads: { 'l[0].doc': upload } })
    expect(none.details.validationErrors.l).toMatchObject([{ type: 'no_row' }])
  })

  test('shows a row that came with it when it is asked for', async () => {
    const form = list({ default: [{ a: 'x' }, { a: 'y' }] })
    const { shown } = await check(form, {}, { isShowing: true, rowsToShow: [['l', 1]] })
    expect(shown?.rows).toMatchObject([{ row: ['l', 1], fields: { a: { shown: true, value: 'y' } } }])
  })

  test('that may be edited has no rows while its source gives none', async () => {
    const source = { expression: 'gone.by', runLocal: true }
    expect((await check(list({ ...source, editable: true }), {})).details.waiting).toEqual([])
    expect((await check(list(source), {})).details.waiting).toEqual(['l'])
  })
})

describe('an object that is written as YAML', () => {
  const SUBFORM = {
    row: [
      { name: 'a', required: true },
      { name: 'doc', type: 'file' },
    ],
  }
  const form = formOf([{ name: 'o', type: 'yaml', subform: 'row' }], SUBFORM)

  test('is checked by its fields when it is there, and is none when it is not sent', async () => {
    expect((await check(form, { o: 'a: x' })).extravars).toEqual({ o: { a: 'x' } })
    expect((await check(form, { o: '{}' })).details.rowErrors.o).toMatchObject([{ missing: ['a'] }])
    expect((await check(form, {})).details).toMatchObject({ missing: [], invalid: [] })
    expect((await check(form, { o: '[1]' })).details.invalid).toEqual(['o'])
  })

  test('is there when only a file of it is sent', async () => {
    const uploads = { 'o.doc': { originalname: 'f', size: 1, description: { path: '/p' } } }
    expect((await check(form, {}, { uploads })).details.rowErrors.o).toMatchObject([{ missing: ['a'] }])
    expect((await check(form, { o: 'a: x' }, { uploads })).extravars).toEqual({ o: { a: 'x', doc: { path: '/p' } } })
  })
})
