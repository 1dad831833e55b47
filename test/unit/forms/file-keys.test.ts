import { describe, expect, test } from 'vitest'
import {
  fileKeyAt,
  fileKeyOf,
  isInRow,
  rowsWithFiles,
  takesFiles,
} from '../../../control-plane/src/forms/fields/file-keys.js'
import { parseModel, parsePath, placesOf } from '../../../control-plane/src/forms/fields/model-path.js'
import { type FieldInFile, parseField, parseWizardStep } from '../../../control-plane/src/forms/fields/parse-field.js'
import {
  filesInRows,
  withFilesInRows,
  withUploadsInVariables,
} from '../../../control-plane/src/forms/values/row-files.js'
import type { LaunchUpload } from '../../../control-plane/src/forms/values/uploads.js'

const fieldsOf = (...files: FieldInFile[]) => files.map(parseField)
const file = { name: 'doc', type: 'file' } as const
const ROW = fieldsOf(file, { name: 'title' }, { name: 'inner', type: 'list', subform: 'row' })
const FORM = {
  fields: fieldsOf(
    file,
    { name: 'text' },
    { name: 'rows', type: 'list', subform: 'row' },
    { name: 'object', type: 'yaml', subform: 'row' },
  ),
  wizard: [],
  subforms: { row: ROW },
}
const step = (name: string, subform: string, defaultModel?: string) =>
  parseWizardStep({ name, subform, ...(defaultModel === undefined ? {} : { defaultModel }) })
const WIZARD = {
  fields: [],
  wizard: [step('one', 'row'), step('two', 'row', 'vm'), step('three', 'third')],
  subforms: { row: ROW, third: fieldsOf({ name: 'scan', type: 'file' }) },
}

describe('the key of a file', () => {
  test.each(['doc', 'rows[0].doc', 'rows[12].inner[3].doc', 'object.doc'])('%s names a field', (key) => {
    expect(fileKeyOf(FORM, key)).toEqual({ key })
  })

  test.each([
    'text',
    'gone',
    'doc[0]',
    'doc.doc',
    'rows.doc',
    'rows[0]',
    'rows[00].doc',
    'rows[0].title',
    'rows[0].',
    'object[0].doc',
    'object',
    '',
  ])('%j names none', (key) => {
    expect(fileKeyOf(FORM, key)).toEqual({ problem: 'no_file_field', keys: [] })
  })

  test('in a wizard begins with its step, which may be left out when one step has such a field', () => {
    expect(fileKeyOf(WIZARD, 'one.doc')).toEqual({ key: 'one.doc' })
    expect(fileKeyOf(WIZARD, 'two.inner[0].doc')).toEqual({ key: 'two.inner[0].doc' })
    expect(fileKeyOf(WIZARD, 'scan')).toEqual({ key: 'three.scan' })
    expect(fileKeyOf(WIZARD, 'doc')).toEqual({ problem: 'ambiguous', keys: ['one.doc', 'two.doc'] })
    expect(fileKeyOf(WIZARD, 'three.doc')).toEqual({ problem: 'no_file_field', keys: [] })
    expect(fileKeyOf(WIZARD, 'xone.doc')).toEqual({ problem: 'no_file_field', keys: [] })
  })

  test('may have 2000 characters and no more', () => {
    const inner = 'inner[0].'.repeat(221)
    const exact = `rows[1].${inner}doc`
    expect(exact).toHaveLength(2000)
    expect(fileKeyOf(FORM, exact)).toEqual({ key: exact })
    expect(rowsWithFiles([exact]).has('rows')).toBe(true)
    const longer = `rows[10].${inner}doc`
    expect(fileKeyOf(FORM, longer)).toEqual({ problem: 'no_file_field', keys: [] })
    expect(rowsWithFiles([longer]).size).toBe(0)
  })

  test('is made of the names and indexes that lead to it', () => {
    expect(fileKeyAt(['rows', 2, 'inner', 0, 'doc'])).toBe('rows[2].inner[0].doc')
    expect(fileKeyAt(['doc'])).toBe('doc')
  })

  test('tells which rows of which lists have files', () => {
    expect(rowsWithFiles(['doc', 'rows[2].doc', 'rows[0].inner[1].doc', 'rows[2].other'])).toEqual(
      new Map([
        [
          'rows',
          new Map([
            [2, 'rows[2].other'],
            [0, 'rows[0].inner[1].doc'],
          ]),
        ],
        ['rows[0].inner', new Map([[1, 'rows[0].inner[1].doc']])],
      ]),
    )
  })

  test.each([
    [FORM, 'doc', false],
    [FORM, 'rows[0].doc', true],
    [FORM, 'object.doc', true],
    [WIZARD, 'one.doc', false],
    [WIZARD, 'one.inner[0].doc', true],
    [WIZARD, 'one.object.doc', true],
    [WIZARD, 'four.doc', true],
  ])('of a form tells whether the file is in a row', (form, key, inRow) => {
    expect(isInRow(form, key)).toBe(inRow)
  })

  test('a form takes files when one of its fields, or one of its subforms, does', () => {
    expect(takesFiles(FORM)).toBe(true)
    expect(takesFiles({ fields: [], subforms: { a: [], b: ROW } })).toBe(true)
    expect(takesFiles({ fields: fieldsOf({ name: 'a' }), subforms: { b: fieldsOf({ name: 'c' }) } })).toBe(false)
  })
})

describe('files in rows', () => {
  const upload = { path: '/p', filename: 'f' }
  test('are found by the key of their field: what names an upload, and nothing else', () => {
    const values = {
      doc: upload,
      rows: [{ doc: upload, inner: [{ doc: { filename: 'g' } }] }, { doc: 'text' }, 'no row', { doc: { name: 'x' } }],
      object: { doc: { path: '/q' }, title: upload },
    }
    expect(filesInRows(FORM, values)).toEqual(
      new Map<string, unknown>([
        ['rows[0].doc', upload],
        ['rows[0].inner[0].doc', { filename: 'g' }],
        ['object.doc', { path: '/q' }],
      ]),
    )
    expect(filesInRows(WIZARD, { one: { inner: [{ doc: upload }] }, two: 'text' })).toEqual(
      new Map([['one.inner[0].doc', upload]]),
    )
  })

  test('are put into the rows that have one, and other rows and values stay', () => {
    const values = { text: 't', rows: [{ title: 'a' }, { title: 'b' }, 'no row'], object: { title: 'c' } }
    const files: Readonly<Record<string, object>> = { 'rows[1].doc': upload, 'object.doc': upload, 'rows[1].title': {} }
    expect(withFilesInRows(FORM, values, (key) => files[key])).toEqual({
      text: 't',
      rows: [{ title: 'a' }, { title: 'b', doc: upload }, 'no row'],
      object: { title: 'c', doc: upload },
    })
    const withoutRows = { ...FORM, subforms: {} }
    expect(withFilesInRows(withoutRows, values, () => upload)).toBe(values)
  })
})

describe('uploads in the extra variables of a client', () => {
  const good = { originalname: 'f', size: 1, description: { path: '/p' } }
  const refused = { problem: { type: 'gone', description: 'is gone' } }
  const written = { path: '/etc/shadow' }

  test('are put at the place of their field, and what the client wrote there goes', () => {
    const form = { ...FORM, fields: fieldsOf({ ...file, model: ['a.b', 'c[1]'] }, { name: 'text' }) }
    const sent = { a: { b: written, x: 1 }, c: [0, written, 2], doc: written, text: 't' }
    expect(withUploadsInVariables(form, sent, { doc: good })).toEqual({
      a: { x: 1, b: { path: '/p' } },
      c: [0, { path: '/p' }, 2],
      text: 't',
    })
    const withoutFile: readonly Readonly<Record<string, LaunchUpload>>[] = [{}, { doc: refused }]
    for (const uploads of withoutFile) {
      expect(withUploadsInVariables(form, sent, uploads)).toEqual({ a: { x: 1 }, c: [0, null, 2], text: 't' })
    }
    expect(sent.a.b).toBe(written)
    expect(withUploadsInVariables(form, { c: [0] }, {})).toEqual({ c: [0] })
  })

  test('are put into rows and objects by their keys', () => {
    const sent = { rows: [{ title: 'a', doc: written }, { title: 'b' }, 5], object: { doc: written } }
    const uploads = { 'rows[1].doc': good, 'object.doc': good }
    expect(withUploadsInVariables(FORM, sent, uploads)).toEqual({
      rows: [{ title: 'a' }, { title: 'b', doc: { path: '/p' } }, 5],
      object: { doc: { path: '/p' } },
    })
  })

  test('make the object of a field that is written as YAML, when it has a file and no value', () => {
    const object = { object: { doc: { path: '/p' } } }
    expect(withUploadsInVariables(FORM, {}, { 'object.doc': good })).toEqual(object)
    expect(withUploadsInVariables(FORM, { object: null }, { 'object.doc': good })).toEqual(object)
    expect(withUploadsInVariables(FORM, {}, { 'rows[0].doc': good })).toEqual({})
    expect(withUploadsInVariables(FORM, { object: 'text' }, { 'object.doc': good })).toEqual({ object: 'text' })
  })

  test('of a wizard are put below the place of their step', () => {
    const uploads = { 'one.doc': good, 'two.doc': good, 'three.scan': refused }
    expect(withUploadsInVariables(WIZARD, { doc: written, scan: written, vm: { doc: written } }, uploads)).toEqual({
      doc: { path: '/p' },
      vm: { doc: { path: '/p' } },
    })
  })

  test('do not touch the variables of a form without files', () => {
    const sent = { doc: written }
    const form = { fields: fieldsOf({ name: 'doc' }), wizard: [], subforms: {} }
    expect(withUploadsInVariables(form, sent, { doc: good })).toEqual(sent)
    expect(withUploadsInVariables(form, sent, { doc: good })).not.toBe(sent)
  })
})

describe('a path', () => {
  test.each([
    ['vm.disks[0].name', ['vm', 'disks', 0, 'name']],
    ['a[999]', ['a', 999]],
    ['a[0][1]', ['a', 0, 1]],
    [' a . b ', ['a', 'b']],
    ['a[1000]', null],
    ['a..b', null],
    ['', null],
    ['a[x]', null],
    ['a[0', null],
    ['[0]', null],
    ['__proto__', null],
    ['a.__proto__.b', null],
  ])('%j is %j', (text, steps) => {
    expect(parsePath(text)).toEqual(steps)
  })

  test('of a model that begins with a slash does not start in the step', () => {
    expect(parseModel('/a.b')).toEqual(['a', 'b'])
    expect(placesOf({ name: 'f', model: [] }, ['vm'])).toEqual([['vm', 'f']])
    expect(placesOf({ name: 'f', model: ['a', '/b'] }, ['vm'])).toEqual([['vm', 'a'], ['b']])
    expect(placesOf({ name: 'f', model: [] })).toEqual([['f']])
  })
})
