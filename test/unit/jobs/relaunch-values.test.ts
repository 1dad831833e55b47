import { describe, expect, test } from 'vitest'
import { RefusedValuesError } from '../../../control-plane/src/errors.js'
import type { Field, WizardStep } from '../../../control-plane/src/forms/fields/field.js'
import type { LaunchValidation } from '../../../control-plane/src/forms/form.js'
import { type EarlierLaunch, passwordsToAskFor } from '../../../control-plane/src/jobs/relaunch/relaunch-fields.js'
import { valuesOfRelaunch } from '../../../control-plane/src/jobs/relaunch/relaunch-values.js'
import { MASK } from '../../../control-plane/src/jobs/secrets/masking.js'
import { form } from './launch-parts.js'

const field = (name: string, parts: object = {}): Field => {
  const plain = { type: 'text', model: [], output: true, editable: false, source: { kind: 'none' }, subform: null }
  return { name, ...plain, asCredential: false, ...parts } as unknown as Field
}
const step = (name: string, subform: string, defaultModel: string | null = null): WizardStep =>
  ({ name, subform, defaultModel }) as unknown as WizardStep

interface Earlier extends Partial<Omit<EarlierLaunch, 'form'>> {
  readonly fields?: readonly Field[]
  readonly wizard?: readonly WizardStep[]
  readonly ofForm?: Readonly<Record<string, string>>
}

function earlier({ fields = [], wizard = [], ofForm = {}, ...changes }: Earlier = {}): EarlierLaunch {
  const nothing = { id: 5, subforms: {}, kept: null, extravars: {}, passwordFields: [], credentials: {} }
  return { ...nothing, form: form({ fields: [...fields], wizard: [...wizard], credentials: ofForm }), ...changes }
}

/** What a relaunch has, or the names of the values that it asks for. */
function relaunch(job: Earlier, changes: object = {}, mode: LaunchValidation = 'off', verbose = false) {
  try {
    return valuesOfRelaunch(earlier(job), { ...changes }, { mode, verbose })
  } catch (error) {
    if (!(error instanceof RefusedValuesError)) throw error
    return error.code === 'values_refused' ? error.details : error.code
  }
}

const PW = field('pw', { type: 'password' })
const A = field('a')
const COMPUTED = { type: 'expression', source: { kind: 'server' } }
const WIZARD = [step('one', 's'), step('two', 's')]
const KEPT = { kept: { a: 1 }, extravars: { a: 1, other: 3 } }
const HELD = { passwordFields: ['pw'] }

test.each<[string, Earlier, object, object | string]>([
  ['the kept field values with the changes over them', KEPT, { b: 4 }, { extravars: {}, rawFormData: { a: 1, b: 4 } }],
  ['nothing of a job without field values', { extravars: { a: 1 } }, {}, 'raw_form_data_needed'],
  [
    'the values of a wizard step one by one',
    { wizard: WIZARD, kept: { one: { a: 1, b: 2 } } },
    { one: { b: 3 } },
    { rawFormData: { one: { a: 1, b: 3 } } },
  ],
  [
    'other objects as a whole',
    { kept: { rows: { a: 1, b: 2 } } },
    { rows: { b: 3 } },
    { rawFormData: { rows: { b: 3 } } },
  ],
  [
    'computed values that held a password anew',
    { ...HELD, fields: [field('a', COMPUTED)], kept: { a: MASK, b: 1 } },
    {},
    { rawFormData: { b: 1 } },
  ],
  ['no text that held a password', { ...HELD, fields: [A], kept: { a: MASK } }, {}, { missing: ['a'] }],
  [
    'no value that users may have changed',
    { ...HELD, fields: [field('a', { ...COMPUTED, editable: true })], kept: { a: MASK } },
    {},
    { missing: ['a'] },
  ],
  [
    'a mask as a text like any other in a job without passwords',
    { kept: { a: MASK } },
    {},
    { rawFormData: { a: MASK } },
  ],
  [
    'each missing password once',
    { ...HELD, fields: [PW], kept: { pw: MASK }, extravars: { pw: MASK } },
    {},
    { missing: ['pw'] },
  ],
  [
    'the choice of the launch',
    { ofForm: { db: 'first' }, credentials: { db: 'third', other: 'x' }, kept: {} },
    {},
    { credentials: { db: 'third', other: 'x' } },
  ],
  [
    'no choice of the form and of its fields',
    {
      fields: [field('login', { asCredential: true })],
      ofForm: { db: 'one, two' },
      credentials: { db: 'two', login: 'x' },
      kept: {},
    },
    {},
    { credentials: {} },
  ],
])('where launches are checked, a relaunch takes %s', (_what, job, changes, expected) => {
  const answer = relaunch(job, changes, 'enforce')
  if (typeof expected === 'string') expect(answer).toBe(expected)
  else expect(answer).toMatchObject(expected)
})

test.each<[string, Earlier, object, object]>([
  [
    'the variables but for what the service sets',
    { extravars: { a: 1, ansibleforms_user: { name: 'ann' }, __verbose__: true, __tags__: 'x' } },
    {},
    { extravars: { a: 1 }, rawFormData: null },
  ],
  [
    'the verbose mode where it is a field',
    { fields: [field('__verbose__')], extravars: { __verbose__: true } },
    {},
    { extravars: { __verbose__: true } },
  ],
  [
    'changes over the variables',
    { extravars: { a: 1, b: 2 } },
    { b: 3 },
    { extravars: { a: 1, b: 3 }, rawFormData: null },
  ],
  [
    'changed field values, and variables that are no fields',
    { ...KEPT, fields: [A] },
    { a: 2 },
    { extravars: {}, rawFormData: { a: 2 }, besides: { other: 3 } },
  ],
  [
    'no variable beside the fields that held a password',
    { ...HELD, fields: [A], kept: { a: 1 }, extravars: { url: MASK } },
    { a: 2 },
    { missing: ['url'] },
  ],
  [
    'no variable at all that held a password',
    { ...HELD, fields: [PW, A], extravars: { pw: MASK, a: MASK, b: 1 } },
    {},
    { missing: ['pw', 'a'] },
  ],
])('where launches are not checked, a relaunch takes %s', (_what, job, changes, expected) => {
  expect(relaunch(job, changes)).toMatchObject(expected)
})

test('the verbose mode is asked for each time', () => {
  for (const mode of ['off', 'enforce'] as const) {
    const job = { kept: { a: 1 }, extravars: { a: 1, __verbose__: true } }
    const verboseOf = (verbose: boolean) => (relaunch(job, {}, mode, verbose) as { extravars: object }).extravars
    expect([verboseOf(false), verboseOf(true)]).toEqual([
      expect.not.objectContaining({ __verbose__: true }),
      expect.objectContaining({ __verbose__: true }),
    ])
  }
})

describe('the passwords that a relaunch asks for', () => {
  const ROWS = { fields: [field('rows', { type: 'table', subform: 'row' })], subforms: { row: [field('user'), PW] } }
  const STEP = { wizard: [step('one', 's', 'vm.login')], subforms: { s: [PW] } }
  const PLACED = { ...STEP, extravars: { vm: { login: { pw: MASK } } } }
  const HIDDEN = field('hidden', { type: 'password', output: false })

  test.each<[Earlier, object, string[]]>([
    [{ fields: [PW], extravars: { pw: MASK } }, {}, ['pw']],
    [{ fields: [PW], extravars: { pw: '' } }, {}, []],
    [
      { fields: [field('deep', { type: 'password', model: ['vm.pw'] })], extravars: { vm: { pw: MASK } } },
      {},
      ['deep'],
    ],
    [{ fields: [PW], extravars: { pw: MASK }, kept: { pw: MASK } }, { pw: 'new' }, []],
    [{ fields: [PW], extravars: { pw: MASK }, kept: { pw: MASK } }, { pw: '' }, []],
    [{ fields: [PW], extravars: { pw: MASK }, kept: { pw: MASK } }, { pw: MASK }, ['pw']],
    // It is no variable, and another value holds it.
    [{ fields: [HIDDEN], extravars: { url: MASK } }, {}, ['hidden']],
    [{ fields: [HIDDEN], extravars: { url: 'x' } }, {}, []],
    [{ ...ROWS, extravars: { rows: [{ user: 'a', pw: '' }, { pw: MASK }] } }, {}, ['rows']],
    [{ ...ROWS, extravars: { rows: [{ below: { pw: MASK } }] } }, {}, ['rows']],
    [{ ...ROWS, extravars: { rows: [{ user: MASK, pw: '' }] } }, {}, []],
    [PLACED, {}, ['one.pw']],
    [{ ...STEP, extravars: { pw: MASK } }, {}, []],
    [PLACED, { one: { pw: 'new' } }, []],
    [{ ...PLACED, kept: { one: { pw: 'same' } } }, { one: { pw: 'same' } }, ['one.pw']],
  ])('of %j, with the values %j, are %j', (job, values, names) => {
    expect(passwordsToAskFor(earlier(job), { ...values })).toEqual(names)
  })
})
