import { describe, expect, test } from 'vitest'
import { RefusedValuesError } from '../../../control-plane/src/errors.js'
import type { Field, WizardStep } from '../../../control-plane/src/forms/fields/field.js'
import type { LaunchValidation } from '../../../control-plane/src/forms/form.js'
import {
  type EarlierLaunch,
  fieldRoots,
  passwordsToAskFor,
} from '../../../control-plane/src/jobs/relaunch/relaunch-fields.js'
import { valuesOfRelaunch } from '../../../control-plane/src/jobs/relaunch/relaunch-values.js'
import { MASK } from '../../../control-plane/src/jobs/secrets/masking.js'
import { form } from './launch-parts.js'

/** The parts of a field that decide about a relaunch. */
interface FieldParts {
  readonly type?: string
  readonly model?: readonly string[]
  readonly output?: boolean
  readonly editable?: boolean
  readonly source?: { readonly kind: string }
  readonly subform?: string | null
  readonly asCredential?: boolean
}

const field = (name: string, parts: FieldParts = {}): Field =>
  ({
    name,
    type: 'text',
    model: [],
    output: true,
    editable: false,
    source: { kind: 'none' },
    subform: null,
    asCredential: false,
    ...parts,
  }) as unknown as Field
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
    const { missing } = error.details as { readonly missing: readonly string[] }
    return error.code === 'values_refused' ? missing : error.code
  }
}

const PASSWORD = field('pw', { type: 'password' })

describe('where launches are checked', () => {
  test('the kept field values count, with the changes over them', () => {
    const kept = { a: 1, b: 2 }
    const extravars = { a: 1, b: 2, other: 3 }
    expect(relaunch({ fields: [field('a')], kept, extravars }, { b: 4, c: 5 }, 'enforce')).toEqual({
      extravars: {},
      rawFormData: { a: 1, b: 4, c: 5 },
      credentials: {},
      besides: null,
    })
    expect(relaunch({ kept, extravars }, {}, 'enforce')).toMatchObject({ rawFormData: kept })
  })

  test('a job without field values needs them all, and any of them is a beginning', () => {
    expect(relaunch({ extravars: { a: 1 } }, {}, 'enforce')).toBe('raw_form_data_needed')
    expect(relaunch({ extravars: { a: 1 } }, { a: 2 }, 'enforce')).toMatchObject({ rawFormData: { a: 2 } })
  })

  test('the verbose mode is asked for each time', () => {
    const job = { kept: { a: 1 }, extravars: { __verbose__: true } }
    expect(relaunch(job, {}, 'enforce', false)).toMatchObject({ extravars: {} })
    expect(relaunch(job, {}, 'enforce', true)).toMatchObject({ extravars: { __verbose__: true } })
  })

  test('the values of a wizard step are changed one by one, and others as a whole', () => {
    const job = {
      wizard: [step('one', 's'), step('two', 's')],
      kept: { one: { a: 1, b: 2 }, two: 'no object', rows: { a: 1, b: 2 } },
    }
    expect(relaunch(job, { one: { b: 3 }, two: { b: 3 }, rows: { b: 3 } }, 'enforce')).toMatchObject({
      rawFormData: { one: { a: 1, b: 3 }, two: { b: 3 }, rows: { b: 3 } },
    })
    expect(relaunch(job, { one: 'text' }, 'enforce')).toMatchObject({ rawFormData: { one: 'text' } })
  })

  test.each<[string, FieldParts, boolean]>([
    ['a computed value', { type: 'expression', source: { kind: 'server' } }, true],
    [
      'a computed value that users may change',
      { type: 'expression', editable: true, source: { kind: 'server' } },
      false,
    ],
    ['a value that the page computes', { type: 'expression', source: { kind: 'client' } }, false],
    ['a text', { type: 'text', source: { kind: 'server' } }, false],
  ])('that held a password is computed again, and asked for where it is not computed: %s', (_, parts, isComputed) => {
    const job = { fields: [field('a', parts)], kept: { a: MASK, b: 1 }, passwordFields: ['pw'] }
    expect(relaunch(job, {}, 'enforce')).toEqual(
      isComputed ? expect.objectContaining({ rawFormData: { b: 1 } }) : ['a'],
    )
  })

  test('a computed value without a password stays', () => {
    const job = { fields: [field('a', { type: 'expression', source: { kind: 'server' } })], kept: { a: 1 } }
    expect(relaunch(job, {}, 'enforce')).toMatchObject({ rawFormData: { a: 1 } })
  })

  test('a mask is a text like any other in a job that had no passwords', () => {
    expect(relaunch({ kept: { a: MASK } }, {}, 'enforce')).toMatchObject({ rawFormData: { a: MASK } })
  })

  test('each missing password is named once', () => {
    const job = { fields: [PASSWORD], kept: { pw: MASK }, extravars: { pw: MASK }, passwordFields: ['pw'] }
    expect(relaunch(job, {}, 'enforce')).toEqual(['pw'])
  })

  test('the choices of the launch are kept, but not those of the form and of its fields', () => {
    const job = {
      fields: [field('login', { asCredential: true })],
      ofForm: { db: 'first, second' },
      credentials: { db: 'second', login: 'mine', other: 'third' },
      kept: {},
    }
    expect(relaunch(job, { a: 1 }, 'enforce')).toMatchObject({ credentials: { other: 'third' } })
    expect(relaunch({ ...job, credentials: { db: 'third' } }, { a: 1 }, 'enforce')).toMatchObject({
      credentials: { db: 'third' },
    })
    expect(relaunch({ ...job, credentials: { toString: 'x' } }, { a: 1 }, 'enforce')).toMatchObject({
      credentials: { toString: 'x' },
    })
    expect(relaunch(job)).toMatchObject({ credentials: { login: 'mine', other: 'third' } })
  })
})

describe('where launches are not checked', () => {
  test('without changes the variables are those of the job, but for what the service sets', () => {
    const extravars = { a: 1, ansibleforms_user: { name: 'ann' }, __verbose__: true, __tags__: 'x' }
    expect(relaunch({ extravars, kept: { a: 1 } })).toEqual({
      extravars: { a: 1 },
      rawFormData: { a: 1 },
      credentials: {},
      besides: null,
    })
  })

  test('the verbose mode stays where it is a field of the form, and is else asked for each time', () => {
    const extravars = { __verbose__: true }
    expect(relaunch({ fields: [field('__verbose__')], extravars })).toMatchObject({ extravars: { __verbose__: true } })
    expect(relaunch({ extravars })).toMatchObject({ extravars: {} })
    expect(relaunch({ extravars: {} }, { __verbose__: true })).toMatchObject({ extravars: {} })
    expect(relaunch({ extravars: {} }, { __verbose__: true, a: 1 })).toMatchObject({ extravars: { a: 1 } })
    expect(relaunch({ fields: [field('__verbose__')] }, { __verbose__: true })).toMatchObject({
      extravars: { __verbose__: true },
    })
    expect(relaunch({ extravars: {} }, {}, 'off', true)).toMatchObject({ extravars: { __verbose__: true } })
  })

  test('changes replace variables in a job that had only variables', () => {
    expect(relaunch({ extravars: { a: 1, b: 2 } }, { b: 3 })).toEqual({
      extravars: { a: 1, b: 3 },
      rawFormData: null,
      credentials: {},
      besides: null,
    })
  })

  test('with changes and field values the values are checked, and variables that are no fields stay', () => {
    const job = {
      fields: [field('a'), field('b')],
      kept: { a: 1, b: 2 },
      extravars: { a: 1, b: 2, other: 3, __verbose__: true },
    }
    expect(relaunch(job, { b: 4, more: 5, __verbose__: true, __tags__: 'x' })).toEqual({
      extravars: {},
      rawFormData: { a: 1, b: 4, more: 5, __verbose__: true, __tags__: 'x' },
      credentials: {},
      besides: { other: 3, more: 5 },
    })
  })

  test('with changes a variable that is no field and held a password is asked for', () => {
    const job = { fields: [field('a')], kept: { a: 1 }, extravars: { a: 1, url: MASK }, passwordFields: ['pw'] }
    expect(relaunch(job, { a: 2 })).toEqual(['url'])
    expect(relaunch(job, { a: 2, url: 'x' })).toMatchObject({ besides: { url: 'x' } })
    expect(relaunch({ ...job, passwordFields: [] }, { a: 2 })).toMatchObject({ besides: { url: MASK } })
  })

  test('without changes everything that held a password is asked for', () => {
    const fields = [PASSWORD, field('a')]
    const gone = { fields, passwordFields: ['pw'] }
    // A job with variables only: each variable is its own.
    expect(relaunch({ ...gone, extravars: { pw: MASK, a: MASK, b: 1 } })).toEqual(['pw', 'a'])
    // With field values the fields are asked for, and what is no field.
    expect(relaunch({ ...gone, kept: { a: 1 }, extravars: { pw: MASK, a: MASK, url: MASK } })).toEqual(['pw', 'url'])
    // Without a password that can be asked for, each variable is.
    expect(relaunch({ ...gone, fields: [field('a')], kept: { a: 1 }, extravars: { a: MASK } })).toEqual(['a'])
    expect(relaunch({ ...gone, kept: { a: 1 }, extravars: { a: 1 } })).toMatchObject({ extravars: { a: 1 } })
  })
})

describe('the keys that belong to a form', () => {
  test('are the names of its fields and where their values begin', () => {
    const fields = [field('a'), field('b', { model: ['vm.disks[0]', '/x.y'] }), field('c', { model: ['a..b'] })]
    expect([...fieldRoots(earlier({ fields }).form, {})]).toEqual(['a', 'b', 'vm', 'x', 'c'])
  })

  test('are those of its wizard steps: at their place, or at the root', () => {
    const subforms = { s: [field('a'), field('b', { model: ['m.n', '/root.x'] })] }
    const rootsOf = (defaultModel: string | null) => [
      ...fieldRoots(earlier({ wizard: [step('one', 's', defaultModel)] }).form, subforms),
    ]
    expect(rootsOf(null)).toEqual(['one', 'a', 'b', 'm', 'root'])
    expect(rootsOf('place.below')).toEqual(['one', 'place', 'root'])
    expect([...fieldRoots(earlier({ wizard: [step('one', 'gone')] }).form, subforms)]).toEqual(['one'])
  })
})

describe('the passwords of a job that a relaunch asks for', () => {
  const asked = (job: Earlier, values: Record<string, unknown> = {}) => passwordsToAskFor(earlier(job), values)

  test('are those that it had, at their place in its variables', () => {
    const deep = field('deep', { type: 'password', model: ['vm.pw'] })
    expect(asked({ fields: [PASSWORD, deep], extravars: { pw: MASK, vm: { pw: MASK } } })).toEqual(['pw', 'deep'])
    expect(asked({ fields: [PASSWORD, deep], extravars: { pw: '', vm: {} } })).toEqual([])
    expect(asked({ fields: [field('pw')], extravars: { pw: MASK } })).toEqual([])
  })

  test('are not those that are sent, also when an empty one is', () => {
    const job = { fields: [PASSWORD], extravars: { pw: MASK }, kept: { pw: MASK } }
    expect(asked(job, { pw: 'new' })).toEqual([])
    expect(asked(job, { pw: '' })).toEqual([])
    expect(asked(job, { pw: MASK })).toEqual(['pw'])
    expect(asked({ ...job, kept: null }, { pw: MASK })).toEqual([])
    // Nothing of the prototype was kept.
    const odd = field('toString', { type: 'password' })
    expect(asked({ fields: [odd], extravars: { toString: MASK }, kept: {} }, { toString: 'new' })).toEqual([])
  })

  test('that are no variables are asked for where another value holds one', () => {
    const hidden = field('hidden', { type: 'password', output: false })
    expect(asked({ fields: [hidden], extravars: { url: `x` } })).toEqual([])
    expect(asked({ fields: [hidden], extravars: { url: MASK } })).toEqual(['hidden'])
    expect(asked({ fields: [field('a', { output: false })], extravars: { url: MASK } })).toEqual([])
  })

  test('stand in rows, at any depth', () => {
    const rows = field('rows', { type: 'table', subform: 'row' })
    const job = { fields: [rows], subforms: { row: [field('user'), PASSWORD] } }
    expect(asked({ ...job, extravars: { rows: [{ user: 'a', pw: '' }, { pw: MASK }] } })).toEqual(['rows'])
    expect(asked({ ...job, extravars: { rows: [{ below: { pw: MASK } }] } })).toEqual(['rows'])
    expect(asked({ ...job, extravars: { rows: [{ user: MASK, pw: '' }] } })).toEqual([])
    expect(asked({ ...job, extravars: { rows: null } })).toEqual([])
    expect(asked({ ...job, extravars: { rows: 'text' } })).toEqual([])
    expect(asked({ ...job, subforms: {}, extravars: { rows: [{ pw: MASK }] } })).toEqual([])
    expect(asked({ ...job, fields: [field('rows')], extravars: { rows: [{ pw: MASK }] } })).toEqual([])
  })

  test('of a wizard step are named by it, and stand at its place', () => {
    const subforms = { s: [PASSWORD] }
    const placed = { wizard: [step('one', 's', 'vm.login')], subforms, extravars: { vm: { login: { pw: MASK } } } }
    expect(asked(placed)).toEqual(['one.pw'])
    expect(asked({ ...placed, extravars: { pw: MASK } })).toEqual([])
    expect(asked(placed, { one: { pw: 'new' } })).toEqual([])
    expect(asked(placed, { one: 'no object' })).toEqual(['one.pw'])
    expect(asked({ ...placed, kept: { one: { pw: 'same' } } }, { one: { pw: 'same' } })).toEqual(['one.pw'])
    expect(asked({ wizard: [step('one', 's')], subforms, extravars: { pw: MASK } })).toEqual(['one.pw'])
    expect(asked({ wizard: [step('one', 'gone')], subforms, extravars: { pw: MASK } })).toEqual([])
  })
})
