import { expect, test } from 'vitest'
import type { Field } from '../../../control-plane/src/forms/fields/field.js'
import { type FieldInFile, parseField } from '../../../control-plane/src/forms/fields/parse-field.js'
import { listedInventories } from '../../../control-plane/src/forms/parse/listed-inventories.js'

test.each<[in_file: Partial<FieldInFile>, field: Partial<Field>]>([
  [{}, { type: 'text', label: 'f', source: { kind: 'client' }, output: true, model: [], multiple: false }],
  [{}, { editable: false, dependencies: null, dependencyFn: 'and', evalDefault: false, asCredential: false }],
  [
    { type: 'local', value: 1 },
    { type: 'expression', output: false, asCredential: false },
  ],
  [
    { type: 'local_out', value: 1 },
    { type: 'expression', output: true, asCredential: false },
  ],
  [
    { type: 'credential', value: 1 },
    { type: 'expression', output: true, asCredential: true },
  ],
  [{ type: 'credential', value: 1, asCredential: false }, { asCredential: false }],
  [{ type: 'local', value: 1, output: true }, { output: true }],
  [{ noOutput: true }, { output: false }],
  [{ output: false }, { output: false }],
  [{ horizontal: true }, { multiple: true }],
  [{ horizontal: true, multiple: false }, { multiple: false }],
  [{ type: 'query', values: [] }, { type: 'enum' }],
  [
    { type: 'table', subform: 's' },
    { type: 'list', subform: 's' },
  ],
  [{ type: 'yaml', subform: 's' }, { subform: 's' }],
  [{ type: 'text', subform: 's' }, { subform: null }],
  [{ model: 'a.b' }, { model: ['a.b'] }],
  [{ model: ['a', '', '/b'] }, { model: ['a', '/b'] }],
  [{ model: '' }, { model: [] }],
  [{ yamlError: { description: 'bad' } }, { yamlError: 'bad' }],
  [{ insertMarker: 'i' }, { markers: { insert: 'i', update: null, delete: null } }],
  [{ updateMarker: 'u' }, { markers: { insert: '__inserted__', update: 'u', delete: null } }],
  [{ allowDelete: false }, { markers: { insert: '__inserted__', update: null, delete: null } }],
  [{ allowDelete: true }, { markers: { insert: null, update: null, delete: null } }],
  [{ cache: 7 }, { keepMs: 7000 }],
  [{ refresh: ' 90 ' }, { keepMs: 90_000 }],
  [{ cache: '2 h', refresh: '5s' }, { keepMs: 7_200_000 }],
])('%j means %j', (more, expected) => {
  expect(parseField({ name: 'f', ...more })).toMatchObject(expected)
})

test.each<[Partial<FieldInFile>, Field['source']]>([
  [
    { type: 'enum', values: [1], expression: '2' },
    { kind: 'constant', value: [1] },
  ],
  [
    { type: 'expression', value: 5, query: 'q' },
    { kind: 'constant', value: 5 },
  ],
  [
    { type: 'enum', expression: '[1]' },
    { kind: 'server', expression: '[1]', jq: null },
  ],
  [
    { type: 'enum', expression: '[1]', runLocal: true },
    { kind: 'local', expression: '[1]' },
  ],
  [
    { type: 'expression', expression: '1', jq: '.a' },
    { kind: 'server', expression: '1', jq: '.a' },
  ],
  [
    { type: 'local', expression: '1', jq: '' },
    { kind: 'local', expression: '1' },
  ],
  [
    { type: 'enum', query: 'q', jq: null },
    { kind: 'query', query: 'q', config: null, jq: null },
  ],
  [
    { type: 'list', subform: 's', query: 'q', dbConfig: 'd' },
    { kind: 'query', query: 'q', config: 'd', jq: null },
  ],
  [{ type: 'list', subform: 's' }, { kind: 'client' }],
  [{ type: 'text', expression: '1', query: 'q' }, { kind: 'client' }],
  [
    { type: 'enum', expression: 'fn . fnGone(fn.fnSort([]), x.fn.y, fn.z)' },
    { kind: 'remote', functions: ['fn.fnGone', 'fn.z'] },
  ],
])('%j has the source %j', (more, source) => {
  expect(parseField({ name: 'f', ...more }).source).toEqual(source)
})

test('a field depends on the values or the validity of others, which ! turns round', () => {
  const dependencies = [
    { name: 'a', values: [1] },
    { name: '!b', isValid: false },
    { name: 'c', values: [], isValid: true },
  ]
  expect(parseField({ name: 'f', dependencies, dependencyFn: 'nor' }).dependencies).toEqual([
    { on: 'a', inverted: false, values: [1] },
    { on: 'b', inverted: true, isValid: false },
    { on: 'c', inverted: false, values: [] },
  ])
})

test.each<[FieldInFile, string[]]>([
  [
    { name: '__inventory__', type: 'enum', values: ['a', { label: 'B', value: 'b' }], default: 'c' },
    ['a', 'B', 'b', 'c'],
  ],
  [{ name: 'f', type: 'expression', value: 'a', model: ['x', 'vm.__inventory__'] }, ['a']],
  [{ name: '__inventory__', default: 'a', model: 'x' }, []],
  [{ name: 'f', default: 'a', model: 'x__inventory__' }, []],
  [{ name: '__inventory__', default: ['a', null, 5, { v: 'b', deep: { v: 'c' } }] }, ['a', 'b']],
  [{ name: '__inventory__', type: 'enum', expression: '"a"' }, []],
])('%j offers the inventories %j', (field, texts) => {
  expect(listedInventories([parseField(field)])).toEqual(texts)
})
