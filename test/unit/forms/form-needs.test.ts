import { describe, expect, test } from 'vitest'
import { type FieldInFile, parseField } from '../../../control-plane/src/forms/fields/parse-field.js'
import {
  callsOwnFunctions,
  holdsOwnFunctions,
  ownFunctionsIn,
} from '../../../control-plane/src/forms/fields/server-functions.js'
import { asksSources, needsOf } from '../../../control-plane/src/forms/form-needs.js'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'

/** The needs of a form with these properties, where the installation has the function `known`. */
function needs(more: object): unknown {
  const text = JSON.stringify({ name: 'f', type: 'ansible', playbook: 'x.yml', ...more })
  const { forms, errors } = parseFormFile('f.yml', text)
  const [first] = forms
  if (!first) throw new Error(JSON.stringify(errors))
  return needsOf(first.form, ['known'])
}
const needsOfFields = (...fields: object[]) => needs({ fields })

describe('a form needs', () => {
  test.each([
    ['fnRestBasic', 'rest'],
    ['fnRestJwt', 'rest'],
    ['fnRestJwtSecure', 'rest'],
    ['fnRestAdvanced', 'rest'],
    ['fnParseHtmlWithRegex', 'rest'],
    ['fnReadYamlFile', 'files'],
    ['fnReadJsonFile', 'files'],
    ['fnLs', 'files'],
    ['fnJq', 'jq'],
    ['fnDnsResolve', 'dns'],
    ['fnSsh', 'ssh'],
    ['fnCredentials', 'credentials'],
  ])('for fn.%s the feature %s', (name, feature) => {
    expect(needsOfFields({ name: 'a', type: 'expression', expression: `fn.${name}('x')` })).toEqual([
      { feature, fields: ['a'], names: [`fn.${name}`] },
    ])
  })

  test('what its fields need, each once, with all fields that need it', () => {
    expect(
      needsOfFields(
        { name: 'a', type: 'enum', query: 'select 1', dbConfig: 'one, two' },
        { name: 'b', type: 'enum', query: 'select 1', dbConfig: 'one', jq: '.x' },
        { name: 'c', type: 'expression', expression: 'fn.fnGone(1)' },
        { name: 'd' },
      ),
    ).toEqual([
      { feature: 'database', fields: ['a', 'b'], names: ['one', 'two'] },
      { feature: 'jq', fields: ['b'], names: [] },
      { feature: 'missing', fields: ['c'], names: ['fn.fnGone'] },
    ])
  })

  test.each<[unknown, string[]]>([
    ['a', ['a']],
    [
      ['a', { name: 'b,c', type: 'mssql' }],
      ['a', 'b (mssql)', 'c (mssql)'],
    ],
    [{ name: 'a', type: 5 }, ['a']],
    [{ type: 'mysql' }, []],
    [7, []],
    [null, []],
  ])('for dbConfig %j the databases %j', (dbConfig, names) => {
    expect(needsOfFields({ name: 'a', type: 'enum', query: 'select 1', dbConfig })).toEqual([
      { feature: 'database', fields: ['a'], names },
    ])
  })

  test('functions of the installation, wherever it has scripts: known ones, and ones that are missing', () => {
    const own = { feature: 'own functions', names: ['fnc.known'] }
    const missing = { feature: 'missing', names: ['fnc.gone'] }
    for (const field of [
      { name: 'a', type: 'expression', expression: 'fnc.known() + fnc.gone()' },
      { name: 'a', type: 'expression', runLocal: true, expression: 'fnc.known() + fnc.gone()' },
      { name: 'a', default: 'fnc.known() + fnc.gone()', evalDefault: true },
    ]) {
      expect(needsOfFields(field)).toEqual([
        { ...own, fields: ['a'] },
        { ...missing, fields: ['a'] },
      ])
    }
    expect(needsOfFields({ name: 'a', default: 'fnc.known()' })).toEqual([])
    expect(needsOfFields({ name: 'a', type: 'number', default: 5, evalDefault: true })).toEqual([])
    const steps = [{ name: 's', subform: 'sub', when: 'fnc.known()' }]
    expect(needs({ wizard: steps })).toEqual([{ ...own, fields: [] }])
  })

  test('another system when a step, or all of it, is none of a runner', () => {
    const steps = [
      { name: 'one', playbook: 'x.yml' },
      { name: 'two', type: 'awx', template: 't' },
    ]
    expect(needs({ type: 'multistep', playbook: undefined, steps })).toEqual([
      { feature: 'other system', fields: [], names: ['awx'] },
    ])
    expect(needs({ type: 'awx', playbook: undefined, template: 't' })).toEqual([
      { feature: 'other system', fields: [], names: ['awx'] },
    ])
  })

  test('files of constants, and the credentials of its playbooks and fields', () => {
    const credentials = { db: 'a,b' }
    const steps = [{ name: 'one', playbook: 'x.yml', credentials, ansibleCredentials: 'login' }]
    expect(needs({ type: 'multistep', playbook: undefined, steps, varsFiles: ['v.yml'] })).toEqual([
      { feature: 'vars files', fields: [], names: ['v.yml'] },
      { feature: 'credentials', fields: [], names: ['a,b', 'login'] },
    ])
    expect(needs({ credentials, vaultCredentials: 'v', fields: [{ name: 'f', asCredential: true }] })).toEqual([
      { feature: 'credentials', fields: ['f'], names: ['a,b', 'v'] },
    ])
  })

  test.each([
    ['ansible', { playbook: 'x.yml' }],
    ['subform', {}],
    ['workflow', { workflow: 'w' }],
    ['multistep', { steps: [{ name: 'one', playbook: 'x.yml' }] }],
  ])('no other system as a form of type %s', (type, more) => {
    expect(needs({ playbook: undefined, type, ...more })).toEqual([])
  })
})

test.each<[FieldInFile, boolean]>([
  [{ name: 'a', type: 'enum', query: 'select 1' }, true],
  [{ name: 'a', type: 'expression', expression: "fn.fnLs('.')" }, true],
  [{ name: 'a', type: 'expression', expression: '1', jq: '.' }, true],
  [{ name: 'a', type: 'expression', expression: 'fn.fnGone()' }, true],
  [{ name: 'a', type: 'expression', expression: '1' }, false],
  [{ name: 'a', type: 'expression', runLocal: true, expression: '1' }, false],
  [{ name: 'a' }, false],
])('a check of %j asks other systems: %j', (field, asks) => {
  expect(asksSources([parseField({ name: 'plain' }), parseField(field)])).toBe(asks)
})

test.each<[unknown, boolean]>([
  ['fnc.a()', true],
  [{ deep: [1, { text: 'x + fnc.a()' }] }, true],
  ['fncx.a()', false],
  ['xfnc.a()', false],
  [{ deep: ['a', null, 5] }, false],
  [null, false],
  [5, false],
])('%j holds a call of a function of the installation: %j', (value, holds) => {
  expect(holdsOwnFunctions(value)).toBe(holds)
  if (typeof value === 'string') expect(callsOwnFunctions(value)).toBe(holds)
})

test('the functions of the installation that a script calls are found, each once', () => {
  expect(ownFunctionsIn('fnc.a(fnc . b()) + fnc.a() + x.fnc.c() + $fnc.d()')).toEqual(['a', 'b'])
})
