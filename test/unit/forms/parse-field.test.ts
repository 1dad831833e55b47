import { describe, expect, test } from 'vitest'
import {
  type FieldInFile,
  FieldProblem,
  parseField,
  parseWizardStep,
} from '../../../control-plane/src/forms/fields/parse-field.js'
import type { Field } from '../../../control-plane/src/forms/fields/field.js'
import { listedInventories } from '../../../control-plane/src/forms/parse/listed-inventories.js'

const NO_RULES = {
  required: false,
  minSize: null,
  maxSize: null,
  minValue: null,
  maxValue: null,
  minLength: null,
  maxLength: null,
  regex: null,
  validIf: null,
  validIfNot: null,
  notIn: null,
  in: null,
  sameAs: null,
}

describe('a field of a file', () => {
  test('that says only its name is a text of the client, without any rule', () => {
    expect(parseField({ name: 'f' })).toEqual({
      name: 'f',
      type: 'text',
      label: 'f',
      source: { kind: 'client' },
      editable: false,
      dependencies: null,
      dependencyFn: 'and',
      ignoreIncomplete: false,
      rules: NO_RULES,
      evalDefault: false,
      output: true,
      model: [],
      asCredential: false,
      multiple: false,
      valueColumn: null,
      placeholderColumn: null,
      outputObject: false,
      dateType: null,
      yamlError: null,
      subform: null,
      markers: { insert: null, update: null, delete: null },
    })
  })

  test('keeps what it says of its rules', () => {
    const other = { field: 'g', description: 'no' }
    const rules = { minSize: 1, maxSize: '2', minValue: 3, maxValue: 4, minLength: 5, maxLength: 6, sameAs: 'g' }
    const compared = { validIf: other, validIfNot: { field: 'g' }, notIn: other, in: other }
    expect(parseField({ name: 'f', required: true, regex: { expression: 'a' }, ...rules, ...compared }).rules).toEqual({
      ...rules,
      ...compared,
      validIfNot: { field: 'g', description: null },
      required: true,
      regex: { expression: 'a', description: null },
    })
  })

  test.each<[Partial<FieldInFile>, Partial<Field>]>([
    [
      { type: 'local', expression: '1' },
      { type: 'expression', output: false, asCredential: false },
    ],
    [
      { type: 'local_out', expression: '1' },
      { type: 'expression', output: true, asCredential: false },
    ],
    [
      { type: 'credential', expression: '1' },
      { type: 'expression', output: true, asCredential: true },
    ],
    [{ type: 'credential', expression: '1', asCredential: false }, { asCredential: false }],
    [{ type: 'local', expression: '1', output: true }, { output: true }],
    [{ noOutput: true }, { output: false }],
    [{ noOutput: false }, { output: true }],
    [{ output: false }, { output: false }],
    [{ horizontal: true }, { multiple: true }],
    [{ horizontal: false }, { multiple: false }],
    [{ horizontal: true, multiple: false }, { multiple: false }],
    [{ type: 'query', values: [] }, { type: 'enum' }],
    [
      { type: 'table', subform: 's' },
      { type: 'list', subform: 's' },
    ],
    [{ type: 'yaml', subform: 's' }, { subform: 's' }],
    [{ type: 'yaml' }, { subform: null }],
    [{ type: 'text', subform: 's' }, { subform: null }],
    [{ model: 'a.b' }, { model: ['a.b'] }],
    [{ model: ['a', '', '/b'] }, { model: ['a', '/b'] }],
    [{ model: '' }, { model: [] }],
    [{ default: null }, { default: null }],
    [{ yamlError: { description: 'bad' } }, { yamlError: 'bad' }],
    [{ regex: 'x' }, { rules: { ...NO_RULES, regex: { expression: 'x', description: null } } }],
    [{ regex: '' }, { rules: NO_RULES }],
  ])('%j means %j', (more, expected) => {
    expect(parseField({ name: 'f', ...more })).toMatchObject(expected)
  })

  test.each<[Partial<FieldInFile>, Field['source']]>([
    [
      { type: 'enum', values: [1], expression: '2' },
      { kind: 'constant', value: [1] },
    ],
    [
      { type: 'radio', values: [1] },
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
      { type: 'list', subform: 's', query: 'q', dbConfig: 'd', jq: '.' },
      { kind: 'query', query: 'q', config: 'd', jq: '.' },
    ],
    [
      { type: 'list', subform: 's', expression: '[]' },
      { kind: 'server', expression: '[]', jq: null },
    ],
    [{ type: 'list', subform: 's' }, { kind: 'client' }],
    [{ type: 'text', expression: '1', query: 'q' }, { kind: 'client' }],
    [{ type: 'number', values: [1] }, { kind: 'client' }],
  ])('%j has the source %j', (more, source) => {
    expect(parseField({ name: 'f', ...more }).source).toEqual(source)
  })

  test.each([
    'fnGetNumberedName',
    'fnArray',
    'fnToTable',
    'fnSort',
    'fnCopy',
    'fnCidr',
    'fnTime',
    'fnRestBasic',
    'fnRestJwt',
    'fnRestJwtSecure',
    'fnRestAdvanced',
    'fnReadYamlFile',
    'fnReadJsonFile',
    'fnLs',
    'fnJq',
    'fnDnsResolve',
    'fnSsh',
    'fnParseHtmlWithRegex',
    'fnCredentials',
  ])('may call fn.%s', (name) => {
    expect(parseField({ name: 'f', type: 'expression', expression: `fn.${name}(1)` }).source.kind).toBe('server')
  })

  test('that calls functions which do not exist says which', () => {
    const { source } = parseField({
      name: 'f',
      type: 'expression',
      expression: 'fn . fnGone(fn.fnSort([]), x.fn.y, fn.z)',
    })
    expect(source).toEqual({ kind: 'remote', functions: ['fn.fnGone', 'fn.z'] })
  })

  test.each<[Partial<FieldInFile>, number | undefined]>([
    [{ cache: 0 }, 0],
    [{ cache: 7 }, 7000],
    [{ cache: -1 }, undefined],
    [{ refresh: '5s' }, 5000],
    [{ refresh: ' 90 ' }, 90_000],
    [{ cache: '2m' }, 120_000],
    [{ cache: '2 h' }, 7_200_000],
    [{ cache: '1h', refresh: '5s' }, 3_600_000],
    [{ cache: '999999' }, 999_999_000],
    [{ cache: '1000000' }, undefined],
    [{ refresh: true }, undefined],
    [{ cache: '5d' }, undefined],
    [{}, undefined],
  ])('with %j keeps an answer for %j milliseconds', (more, keepMs) => {
    expect(parseField({ name: 'f', type: 'enum', query: 'q', ...more }).keepMs).toBe(keepMs)
  })

  test('depends on the values or the validity of others, which ! turns round', () => {
    const dependencies = [
      { name: 'a', values: [1] },
      { name: '!b', isValid: false },
      { name: 'c', values: [], isValid: true },
    ]
    expect(parseField({ name: 'f', dependencies, dependencyFn: 'nor' })).toMatchObject({
      dependencyFn: 'nor',
      dependencies: [
        { on: 'a', inverted: false, values: [1] },
        { on: 'b', inverted: true, isValid: false },
        { on: 'c', inverted: false, values: [] },
      ],
    })
  })

  test.each<[Partial<FieldInFile>, Field['markers']]>([
    [{ insertMarker: 'i' }, { insert: 'i', update: null, delete: null }],
    [{ updateMarker: 'u' }, { insert: '__inserted__', update: 'u', delete: null }],
    [{ deleteMarker: 'd' }, { insert: '__inserted__', update: null, delete: 'd' }],
    [{ allowDelete: false }, { insert: '__inserted__', update: null, delete: null }],
    [{ allowDelete: true }, { insert: null, update: null, delete: null }],
    [
      { insertMarker: 'i', deleteMarker: 'd' },
      { insert: 'i', update: null, delete: 'd' },
    ],
  ])('with %j has the marks %j', (more, markers) => {
    expect(parseField({ name: 'f', ...more }).markers).toEqual(markers)
  })
})

describe('a mistake in a field', () => {
  test.each<[Partial<FieldInFile>, string, string]>([
    [{ name: '__proto__' }, 'name', 'name cannot be __proto__'],
    [{ type: 'radio' }, 'name', 'a radio field needs values'],
    [{ type: 'radio', expression: '1' }, 'name', 'a radio field needs values'],
    [{ type: 'enum' }, 'name', 'an enum field needs values, an expression or a query'],
    [{ type: 'expression' }, 'name', 'an expression field needs an expression, a value or a query'],
    [{ type: 'local' }, 'name', 'an expression field needs an expression, a value or a query'],
    [{ type: 'list' }, 'name', 'a list field needs a subform'],
    [{ type: 'list', subform: '' }, 'name', 'a list field needs a subform'],
    [{ type: 'table' }, 'type', 'type is "table"'],
    [{ regex: '(' }, 'regex', 'regex: Invalid regular expression'],
    [{ model: 'a..b' }, 'model', 'model "a..b" must be a dot path such as vm.disks[0].name'],
    [{ model: ['a', '__proto__'] }, 'model', 'model "__proto__" must be a dot path'],
    [{ type: 'enum', query: 'q', jq: 5 }, 'jq', 'jq must be a filter such as .records[].name, as a text'],
    [{ dependencies: [{ name: '!a' }] }, 'dependencies', 'the dependency on a needs values or isValid'],
    [{ insertMarker: '__proto__' }, 'insertMarker', 'insertMarker cannot be __proto__'],
    [{ updateMarker: '__proto__' }, 'updateMarker', 'updateMarker cannot be __proto__'],
    [{ deleteMarker: '__proto__' }, 'deleteMarker', 'deleteMarker cannot be __proto__'],
  ])('%j is said at its place', (more, key, reason) => {
    const parse = () => parseField({ name: 'f', ...more })
    expect(parse).toThrow(FieldProblem)
    expect(parse).toThrow(expect.objectContaining({ key, reason: expect.stringContaining(reason) as string }))
  })
})

describe('a step of a wizard', () => {
  test('has the name of its subform, and must not be left out', () => {
    const step = { name: 's', subform: 's', defaultModel: null, when: null, optional: false }
    expect(parseWizardStep({ subform: 's' })).toEqual(step)
    expect(parseWizardStep({ subform: 's', name: '', defaultModel: '', when: '', optional: false })).toEqual(step)
    const more = { name: 'n', defaultModel: 'a.b', when: '1', optional: true }
    expect(parseWizardStep({ subform: 's', ...more })).toEqual({ subform: 's', ...more })
  })

  test.each([
    [{ name: '__proto__' }, 'name', 'name cannot be __proto__'],
    [{ defaultModel: 'a..b' }, 'defaultModel', 'defaultModel must be a dot path such as vm.disk'],
    [{ defaultModel: '[0]' }, 'defaultModel', 'defaultModel must be a dot path such as vm.disk'],
  ])('%j is refused', (more, key, reason) => {
    expect(() => parseWizardStep({ subform: 's', ...more })).toThrow(expect.objectContaining({ key, reason }))
  })
})

describe('the inventories that a form offers', () => {
  test.each<[FieldInFile, string[]]>([
    [
      { name: '__inventory__', type: 'enum', values: ['a', { label: 'B', value: 'b' }], default: 'c' },
      ['a', 'B', 'b', 'c'],
    ],
    [{ name: 'f', type: 'expression', value: 'a', model: '__inventory__' }, ['a']],
    [{ name: 'f', type: 'expression', value: 'a', model: ['x', 'vm.__inventory__'] }, ['a']],
    [{ name: '__inventory__', default: 'a', model: 'x' }, []],
    [{ name: 'f', default: 'a' }, []],
    [{ name: 'f', default: 'a', model: 'x__inventory__' }, []],
    [{ name: '__inventory__', default: { one: 'a', many: ['b', 1], none: null } }, ['a', 'b']],
    [{ name: '__inventory__', default: ['a', null, 5, { v: 'b', deep: { v: 'c' } }] }, ['a', 'b']],
    [{ name: '__inventory__', default: null }, []],
    [{ name: '__inventory__', type: 'enum', expression: '"a"' }, []],
  ])('%j offers %j', (field, texts) => {
    expect(listedInventories([parseField(field)])).toEqual(texts)
  })
})
