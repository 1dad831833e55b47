import { describe, expect, test } from 'vitest'
import { type FieldInFile, parseField, parseWizardStep } from '../../../control-plane/src/forms/fields/parse-field.js'
import { withSentPasswords } from '../../../control-plane/src/forms/sent/passwords.js'
import { valuesToStore } from '../../../control-plane/src/forms/sent/stored-values.js'
import { inShapeOf, withoutDrafts } from '../../../control-plane/src/forms/sent/wizard-drafts.js'

const fieldsOf = (...files: FieldInFile[]) => files.map(parseField)
const password = { name: 'pw', type: 'password' } as const
const wizardOf = (...steps: { subform: string; name?: string; optional?: boolean; defaultModel?: string }[]) =>
  steps.map(parseWizardStep)

describe('passwords that are only in the extra variables', () => {
  const withPasswords = (fields: FieldInFile[], values: object, extravars: object) =>
    withSentPasswords({ fields: fieldsOf(...fields), wizard: [] }, {}, { ...values }, { ...extravars })

  test('are read from the place of their field, and other fields are not', () => {
    const fields = [password, { name: 'deep', type: 'password', model: 'a.b' } as const, { name: 'text' }]
    expect(withPasswords(fields, { text: 't' }, { pw: 'x', a: { b: 'y' }, text: 'other' })).toEqual({
      text: 't',
      pw: 'x',
      deep: 'y',
    })
    expect(withPasswords([{ name: 'text' }], {}, { text: 'other' })).toEqual({})
  })

  test('do not replace one that was sent, and null is none', () => {
    expect(withPasswords([password], { pw: '' }, { pw: 'x' })).toEqual({ pw: '' })
    expect(withPasswords([password], {}, { pw: null })).toEqual({})
    expect(withPasswords([password], {}, {})).toEqual({})
  })

  test('of a wizard go to their step, which may not have been sent', () => {
    const wizard = wizardOf({ subform: 's', name: 'one', defaultModel: 'vm' }, { subform: 't' }, { subform: 'gone' })
    const subforms = { s: fieldsOf(password), t: fieldsOf({ name: 'a' }) }
    const found = (values: object, extravars: object) =>
      withSentPasswords({ fields: [], wizard }, subforms, { ...values }, { ...extravars })
    expect(found({ one: { a: 1 } }, { vm: { pw: 'x' }, pw: 'other' })).toEqual({ one: { a: 1, pw: 'x' } })
    expect(found({}, { vm: { pw: 'x' } })).toEqual({ one: { pw: 'x' } })
    expect(found({}, { pw: 'x' })).toEqual({})
    expect(found({ one: 'no step' }, { vm: { pw: 'x' } })).toEqual({ one: 'no step' })
    const atRoot = wizardOf({ subform: 's', name: 'one' })
    expect(withSentPasswords({ fields: [], wizard: atRoot }, subforms, {}, { pw: 'x' })).toEqual({ one: { pw: 'x' } })
  })
})

describe('values that are stored with a job', () => {
  const subforms = {
    row: fieldsOf(password, { name: 'user' }, { name: 'more', type: 'list', subform: 'row' }),
    plain: fieldsOf({ name: 'a' }),
  }
  const stored = (fields: FieldInFile[], sent: object, wizard = wizardOf()) =>
    valuesToStore({ fields: fieldsOf(...fields), wizard, subforms }, { ...sent })

  test('have no passwords and no files, but an empty password stays', () => {
    expect(stored([password, { name: 'f', type: 'file' }, { name: 't' }], { pw: 'x', f: 'y', t: 'z' })).toEqual({
      t: 'z',
    })
    expect(stored([password, { name: 't' }], { pw: '' })).toEqual({ pw: '' })
  })

  test('have the rows without their passwords, at any depth, with columns that no field has', () => {
    const rows = [{ pw: 'x', user: 'u', id: 7, more: [{ pw: 'y', user: 'v' }] }, 'no row']
    const list = { name: 'rows', type: 'list', subform: 'row' } as const
    expect(stored([list], { rows })).toEqual({ rows: [{ user: 'u', id: 7, more: [{ user: 'v' }] }, null] })
    expect(stored([{ ...list, type: 'yaml' }], { rows: { pw: 'x', user: 'u' } })).toEqual({ rows: { user: 'u' } })
  })

  test('have a text for rows only when no row of the form has a password', () => {
    const rows = { fields: fieldsOf({ name: 'rows', type: 'list', subform: 'plain' }), wizard: [] }
    expect(valuesToStore({ ...rows, subforms }, { rows: 'text' })).toEqual({})
    expect(valuesToStore({ ...rows, subforms: { plain: subforms.plain } }, { rows: 'text' })).toEqual({ rows: 'text' })
    expect(valuesToStore({ ...rows, subforms: {} }, { rows: [{ a: 1 }] })).toEqual({ rows: [{ a: 1 }] })
  })

  test('have what belongs to no field, without the keys of passwords at any depth', () => {
    const sent = { other: [{ pw: 'x', a: { pw: 'y', b: 1 } }], pw: 'z', n: 5 }
    expect(stored([], sent)).toEqual({ other: [{ a: { b: 1 } }], n: 5 })
    expect(valuesToStore({ fields: [], wizard: [], subforms: {} }, sent)).toEqual(sent)
  })

  test('have the steps of a wizard without their passwords, and no other value for a step', () => {
    const wizard = wizardOf({ subform: 'row', name: 'one' }, { subform: 'plain', name: 'two' }, { subform: 'plain' })
    expect(stored([], { one: { pw: 'x', user: 'u' }, two: 'text', plain: { a: 1 } }, wizard)).toEqual({
      one: { user: 'u' },
      plain: { a: 1 },
    })
  })
})

describe('values of the pages of the product family', () => {
  const form = { wizard: wizardOf({ subform: 'a' }, { subform: 'b', optional: true }) }
  const drafts = { a: { x: 1 }, b: { y: 2 } }
  const sent = { __wizard__: true, drafts, skipped: { a: true, b: true }, completed: { a: true }, n: 5 }

  test('come to the steps; a skipped step counts only if it must not be left out', () => {
    expect(withoutDrafts(form, sent, 'without skipped')).toEqual({ a: { x: 1 }, n: 5 })
    expect(withoutDrafts(form, sent, 'with skipped')).toEqual({ ...drafts, n: 5 })
    for (const skipped of [undefined, {}, { b: false }, 'all']) {
      expect(withoutDrafts(form, { ...sent, skipped }, 'without skipped')).toEqual({ ...drafts, n: 5 })
    }
  })

  test.each([
    ['a form without steps', { wizard: [] }, sent],
    ['values without the mark', form, { ...sent, __wizard__: undefined }],
    ['another mark', form, { ...sent, __wizard__: 'true' }],
    ['drafts that are no object', form, { ...sent, drafts: [] }],
  ])('are nothing special for %s', (_what, some, values) => {
    expect(withoutDrafts(some, values, 'without skipped')).toBe(values)
    expect(inShapeOf(some, values, drafts)).toBe(drafts)
  })

  test('go back in the shape in which they came', () => {
    expect(inShapeOf(form, sent, { ...drafts, n: 6 })).toEqual({
      __wizard__: true,
      drafts,
      skipped: { a: true, b: true },
      n: 6,
    })
    expect(inShapeOf(form, { __wizard__: true, drafts, skipped: 'all' }, { a: 1 })).toEqual({
      __wizard__: true,
      drafts: { a: 1 },
    })
  })
})
