import { describe, expect, test } from 'vitest'
import {
  detailsOf,
  findingsSummary,
  isGood,
  NOTHING_WRONG,
  rowErrorOf,
} from '../../../control-plane/src/forms/check/report.js'
import { unknownNames } from '../../../control-plane/src/forms/check/unknown-names.js'
import { parseField, parseWizardStep } from '../../../control-plane/src/forms/fields/parse-field.js'
import { check, formOf } from './check.js'

const SUBFORMS = {
  first: [
    { name: 'a', required: true },
    { name: 'login', asCredential: true },
  ],
  second: [{ name: 'b', type: 'expression', runLocal: true, expression: "'got ' + '$(__parent__.first.a)'" }],
  files: [{ name: 'doc', type: 'file' }],
}
const wizardForm = (wizard: object[], fields: object[] = [{ name: 'mode' }]) => formOf(fields, SUBFORMS, { wizard })
const upload = { originalname: 'f', size: 1, description: { path: '/p' } }

describe('a wizard', () => {
  test('has a step checked with its name before the fields, and its values below its place', async () => {
    const form = wizardForm([{ subform: 'first', defaultModel: 'vm.disk' }, { subform: 'second' }])
    const good = await check(form, { mode: 'm', first: { a: 'x', login: 'c' } })
    expect(isGood(good.details)).toBe(true)
    expect(good.extravars).toEqual({ mode: 'm', vm: { disk: { a: 'x', login: 'c' } }, b: 'got x' })
    expect(good.credentials).toEqual({ login: 'c' })
    expect((await check(form, { first: {} })).details).toMatchObject({ missing: ['first.a'] })
    expect((await check(form, {})).details).toMatchObject({ missing: ['first.a'] })
  })

  test('has the object of a step although no field puts anything into it', async () => {
    expect((await check(wizardForm([{ subform: 'files', defaultModel: 'vm' }]), {})).extravars).toEqual({ vm: {} })
    expect((await check(wizardForm([{ subform: 'files' }]), {})).extravars).toEqual({})
  })

  test('refuses a step that is no object, and looks no further at it', async () => {
    const { details, extravars } = await check(wizardForm([{ subform: 'first' }]), { first: 'text' })
    expect(details).toMatchObject({ missing: [], invalid: ['first'] })
    expect(details.validationErrors.first).toEqual([
      { type: 'type', description: 'first must be an object with the values of its fields' },
    ])
    expect(extravars).toEqual({})
  })

  test('lets a step be left out that is optional, unless something of it is there', async () => {
    const form = (optional: boolean) =>
      wizardForm([
        { subform: 'first', optional },
        { subform: 'files', optional },
      ])
    expect((await check(form(true), { first: {} })).details.missing).toEqual([])
    expect((await check(form(true), { first: { login: '' } })).details.missing).toEqual(['first.a'])
    expect((await check(form(false), { first: {} })).details.missing).toEqual(['first.a'])
    const { extravars } = await check(form(true), {}, { uploads: { 'files.doc': upload } })
    expect(extravars).toEqual({ doc: { path: '/p' } })
  })

  test.each<[string, object, boolean]>([
    ["'$(__parent__.mode)' === 'on'", { mode: 'on' }, true],
    ["'$(__parent__.mode)' === 'on'", { mode: 'off' }, false],
    ["'$(__user__.username)' === 'ann'", {}, true],
    ["'$(PLACE.name)' === 'here'", {}, true],
    ["'$(gone)' === 'undefined'", {}, true],
    ["__parent__.mode === 'on'", { mode: 'on' }, true],
    ['__parent__.files.doc === undefined', {}, true],
    ['0', {}, false],
  ])('shows a step when %s with %j: %j', async (when, values, shown) => {
    const form = wizardForm([{ subform: 'first', when }, { subform: 'files' }])
    const { details } = await check(form, { ...values }, { constants: { PLACE: { name: 'here' } } })
    expect(details.missing).toEqual(shown ? ['first.a'] : [])
    expect(details.waiting).toEqual([])
  })

  test('gives later steps the values of earlier ones, and none of a step that is not shown', async () => {
    const last = { subform: 'second', name: 'last' }
    const whole = {
      ...SUBFORMS,
      second: [{ name: 'b', type: 'expression', runLocal: true, expression: '$(__parent__.first)' }],
    }
    const form = (when: string) => formOf([], whole, { wizard: [{ subform: 'first', when }, last] })
    expect((await check(form('true'), { first: { a: 'x' } })).extravars.b).toEqual({ a: 'x' })
    expect((await check(form('false'), { first: { a: 'x' } })).details.waiting).toEqual(['last.b'])
    const skipped = wizardForm([
      { subform: 'first', when: 'false' },
      { ...last, when: 'Object.keys(__parent__.first).length === 0' },
    ])
    expect((await check(skipped, { first: { a: 'x' } }, { isShowing: true })).shown?.steps).toMatchObject({
      first: { shown: false },
      last: { shown: true },
    })
  })

  test('waits when nobody can know whether a step is shown', async () => {
    const form = wizardForm([{ subform: 'first', when: 'gone.by' }])
    const { details, shown } = await check(form, {}, { isShowing: true })
    expect(details).toMatchObject({ waiting: ['first'], missing: [] })
    expect(details.validationErrors.first?.[0]?.description).toMatch(/^whether this step is shown cannot be known: /)
    expect(shown?.steps.first).toEqual({
      shown: false,
      waiting: expect.stringContaining('cannot be known') as string,
      fields: {},
    })
  })
})

test('who looks on is told of each field and step before its script or pattern runs', async () => {
  const fields = [
    { name: 'plain' },
    { name: 'patterned', regex: 'x' },
    { name: 'made', type: 'expression', runLocal: true, expression: '1' },
  ]
  const at: string[] = []
  const form = formOf(fields, SUBFORMS, { wizard: [{ subform: 'files', when: 'false' }, { subform: 'first' }] })
  await check(form, { plain: 'x', patterned: 'x', first: { a: 'x' } }, {}, (field) => at.push(field))
  expect(at).toEqual(['patterned', 'made', 'files'])
})

test('credentials are named by fields that have one, and html is no variable', async () => {
  const fields = [
    { name: 'named', asCredential: true },
    { name: 'empty', asCredential: true, default: '' },
    { name: 'none', type: 'enum', values: ['a'], asCredential: true },
    { name: 'other', default: 'x' },
    { name: 'text', type: 'html', default: 'x' },
    { name: 'silent', output: false, default: 'x' },
  ]
  const { credentials, extravars } = await check(formOf(fields), { named: 'c' })
  expect(Object.keys(credentials)).toEqual(['named'])
  expect(Object.keys(extravars)).toEqual(['named', 'empty', 'other'])
})

describe('a form that is shown', () => {
  test('tells of each field whether it is shown and required, and its value, choices and wait', async () => {
    const fields = [
      { name: 'a', required: true, default: 'x' },
      { name: 'pw', type: 'password' },
      { name: 'hidden', default: 'h', dependencies: [{ name: 'a', values: ['never'] }] },
      { name: 'c', type: 'enum', values: [1, 2] },
      { name: 'w', type: 'expression', runLocal: true, expression: '$(gone)' },
      { name: 'q', type: 'enum', query: 'select 1' },
    ]
    const { shown, asked } = await check(formOf(fields), { pw: 'secret' }, { isShowing: true })
    expect(shown).toEqual({
      fields: {
        a: { shown: true, required: true, value: 'x' },
        pw: { shown: true, required: false },
        hidden: { shown: false, required: false },
        c: { shown: true, required: false, choices: [1, 2] },
        w: { shown: true, required: false, waiting: expect.any(String) as string },
        q: { shown: true, required: false, waiting: 'it waits for the answer of its source', asking: true },
      },
      steps: {},
      rows: [],
    })
    expect(asked).toHaveLength(1)
    const silent = await check(formOf(fields.slice(0, 4)), {})
    expect(silent).not.toHaveProperty('shown')
    expect(silent).not.toHaveProperty('asked')
  })

  test('tells the fields of its steps, and of the rows that are asked for', async () => {
    const form = formOf(
      [
        { name: 'l', type: 'list', subform: 'first' },
        { name: 'o', type: 'yaml', subform: 'first' },
      ],
      SUBFORMS,
      { wizard: [{ subform: 'first' }] },
    )
    const values = { l: [{ a: '1' }, {}], first: { a: 'x' } }
    const { shown } = await check(form, values, { isShowing: true, rowsToShow: [['l', 1]] })
    expect(shown?.steps.first).toMatchObject({
      shown: true,
      fields: { a: { shown: true, required: true, value: 'x' } },
    })
    expect(shown?.rows).toMatchObject([{ row: ['l', 1], fields: { a: { shown: true, required: true } } }])
    expect((await check(form, values, { isShowing: true })).shown?.rows).toEqual([])
  })
})

describe('files of a launch', () => {
  const form = formOf([{ name: 'doc', type: 'file' }, { name: 'text' }])
  test('under a name without a file field are refused, whatever they are', async () => {
    const refused = { problem: { type: 'gone', description: 'it is gone' } }
    const { details } = await check(form, {}, { uploads: { text: upload, other: refused, doc: upload } })
    expect(details).toMatchObject({ uploads: ['text', 'other'] })
    expect(details.validationErrors).toEqual({
      text: [{ type: 'no_file_field', description: 'the form has no file field of this name' }],
      other: [{ type: 'gone', description: 'it is gone' }],
    })
  })

  test('must be named by the whole key, step included', async () => {
    const wizard = wizardForm([{ subform: 'files' }])
    expect((await check(wizard, {}, { uploads: { doc: upload } })).details.uploads).toEqual(['doc'])
    expect((await check(wizard, {}, { uploads: { 'files.doc': upload } })).details.uploads).toEqual([])
  })
})

test('names of values that no field has are found, with the name that was probably meant', () => {
  const form = { fields: [parseField({ name: 'host' })], wizard: [parseWizardStep({ subform: 's', name: 'step' })] }
  const subforms = { s: [parseField({ name: 'disk' })] }
  const unknown = (sent: object, others: string[] = []) => unknownNames(form, subforms, { ...sent }, others)
  expect(unknown({ host: 1, step: { disk: 1 }, __page__: 1 })).toEqual([])
  expect(unknown({ hots: 1, step: { dsik: 1, __p__: 1, host: 1 }, zzzzzz: 1 })).toEqual([
    { name: 'hots', nearest: 'host' },
    { name: 'zzzzzz', nearest: null },
    { name: 'step.dsik', nearest: 'disk' },
    { name: 'step.host', nearest: null },
  ])
  expect(unknown({ CONSTANT: 1, step: 'text' }, ['CONSTANT'])).toEqual([])
  expect(unknown({ step: { CONSTANT: 1 } }, ['CONSTANT'])).toMatchObject([{ name: 'step.CONSTANT' }])
})

describe('what is wrong with the values', () => {
  const finding = { name: 'f', errors: [], waiting: null, rowErrors: [], uploadProblem: null }
  const required = { type: 'required', description: 'f is required' }
  const regex = { type: 'regex', description: 'bad' }

  test.each([
    [{}, {}],
    [{ errors: [required] }, { missing: ['s.f'] }],
    [{ errors: [regex] }, { invalid: ['s.f'] }],
    [{ errors: [required, regex] }, { missing: ['s.f'], invalid: ['s.f'] }],
    [{ waiting: 'w' }, { waiting: ['s.f'] }],
    [{ uploadProblem: regex }, { uploads: ['s.f'] }],
    [{ rowErrors: [{ index: 0, missing: ['a'], validationErrors: {} }] }, { invalid: ['s.f'] }],
    [{ rowErrors: [{ index: 0, invalid: ['a'], validationErrors: {} }] }, { invalid: ['s.f'] }],
    [{ rowErrors: [{ index: 0, waiting: ['a'], validationErrors: {} }] }, { waiting: ['s.f'] }],
  ])('%j is listed as %j', (more, lists) => {
    const details = detailsOf([{ ...finding, ...more }], 's.')
    const { missing, invalid, waiting, uploads } = details
    expect({ missing, invalid, waiting, uploads }).toEqual({
      missing: [],
      invalid: [],
      waiting: [],
      uploads: [],
      ...lists,
    })
    expect(isGood(details)).toBe(Object.keys(lists).length === 0)
    expect(Object.keys(details.rowErrors)).toEqual('rowErrors' in more ? ['s.f'] : [])
    expect(Object.keys(details.validationErrors)).toEqual(
      'rowErrors' in more || !Object.keys(more).length ? [] : ['s.f'],
    )
  })

  test('in a row is told with its index, and only the lists that have something', () => {
    expect(rowErrorOf(NOTHING_WRONG, 0)).toBeNull()
    const bad = detailsOf([
      { ...finding, errors: [regex] },
      { ...finding, name: 'g', uploadProblem: regex },
    ])
    expect(rowErrorOf(bad, 2)).toEqual({ index: 2, invalid: ['f', 'g'], validationErrors: { f: [regex], g: [regex] } })
    const object = rowErrorOf(detailsOf([{ ...finding, errors: [required], waiting: 'w' }]), null)
    expect(object).toEqual({
      missing: ['f'],
      waiting: ['f'],
      validationErrors: { f: [required, { type: 'waiting', description: 'w' }] },
    })
    const inner = detailsOf([
      { ...finding, rowErrors: [{ index: 1, invalid: ['a'], validationErrors: { a: [regex] } }] },
    ])
    expect(rowErrorOf(inner, 0)?.rowErrors).toEqual({
      f: [{ index: 1, invalid: ['a'], validationErrors: { a: [regex] } }],
    })
  })

  test('is told to the log as fields and rules, in rows, too', () => {
    const validationErrors = { a: [regex] }
    const rowErrors = {
      o: [{ validationErrors }],
      l: [{ index: 2, validationErrors, rowErrors: { m: [{ index: 0, validationErrors }] } }],
    }
    expect(findingsSummary({ ...NOTHING_WRONG, validationErrors: { f: [required, regex] }, rowErrors })).toEqual([
      'f (required)',
      'f (regex)',
      'o.a (regex)',
      'l[2].a (regex)',
      'l[2].m[0].a (regex)',
    ])
  })
})
