import { describe, expect, test } from 'vitest'
import { type FieldInFile, parseField, parseWizardStep } from '../../../control-plane/src/forms/fields/parse-field.js'
import { withSentPasswords } from '../../../control-plane/src/forms/sent/passwords.js'
import { valuesToStore } from '../../../control-plane/src/forms/sent/stored-values.js'
import { inShapeOf, withoutDrafts } from '../../../control-plane/src/forms/sent/wizard-drafts.js'

const fieldsOf = (...files: FieldInFile[]) => files.map(parseField)
const password = { name: 'pw', type: 'password' } as const
const wizardOf = (...steps: Parameters<typeof parseWizardStep>[0][]) => steps.map(parseWizardStep)

test.each<[values: object, extravars: object, found: object]>([
  [{ one: { a: 1 } }, { vm: { pw: 'x' }, pw: 'other' }, { one: { a: 1, pw: 'x' } }],
  [{ one: { pw: '' } }, { vm: { pw: 'x' } }, { one: { pw: '' } }],
  [{}, { vm: { pw: 'x' } }, { one: { pw: 'x' } }],
  [{}, { vm: { pw: null } }, {}],
  [{}, { pw: 'x' }, {}],
  [{ one: 'no step' }, { vm: { pw: 'x' } }, { one: 'no step' }],
])('a password that is only in the extra variables is read from the place of its field: %j, %j', (...all) => {
  const [values, extravars, found] = all
  const wizard = wizardOf({ subform: 's', name: 'one', defaultModel: 'vm' }, { subform: 'gone' })
  const subforms = { s: fieldsOf(password, { name: 'a' }) }
  expect(withSentPasswords({ fields: [], wizard }, subforms, { ...values }, { ...extravars })).toEqual(found)
})

test.each<[what: string, sent: object, stored: object]>([
  ['no passwords and no files', { pw: 'x', f: 'y', t: 'z' }, { t: 'z' }],
  ['an empty password', { pw: '' }, { pw: '' }],
  [
    'no password of a row',
    { rows: [{ pw: 'x', u: 1, rows: [{ pw: 'y' }] }, 'no'] },
    { rows: [{ u: 1, rows: [{}] }, null] },
  ],
  ['no text for rows', { rows: 'text' }, {}],
  ['no password of what is no field', { other: [{ pw: 'x', a: { pw: 'y', b: 1 } }] }, { other: [{ a: { b: 1 } }] }],
  ['no password of a step', { one: { pw: 'x', u: 1 } }, { one: { u: 1 } }],
  ['no text for a step', { one: 'text' }, {}],
])('values that are stored with a job have %s', (_what, sent, stored) => {
  const list = { name: 'rows', type: 'list', subform: 'row' } as const
  const fields = fieldsOf(password, { name: 'f', type: 'file' }, { name: 't' }, list)
  const form = {
    fields,
    wizard: wizardOf({ subform: 'row', name: 'one' }),
    subforms: { row: fieldsOf(password, list, { name: 'u' }) },
  }
  expect(valuesToStore(form, { ...sent })).toEqual(stored)
})

describe('values of the pages of the product family', () => {
  const form = { wizard: wizardOf({ subform: 'a' }, { subform: 'b', optional: true }) }
  const drafts = { a: { x: 1 }, b: { y: 2 } }
  const sent = { __wizard__: true, drafts, skipped: { a: true, b: true }, n: 5 }

  test('come to the steps; a skipped step counts only if it must not be left out', () => {
    expect(withoutDrafts(form, sent, 'without skipped')).toEqual({ a: { x: 1 }, n: 5 })
    expect(withoutDrafts(form, sent, 'with skipped')).toEqual({ ...drafts, n: 5 })
    expect(withoutDrafts(form, { ...sent, skipped: { b: false } }, 'without skipped')).toEqual({ ...drafts, n: 5 })
  })

  test.each([
    ['a form without steps', { wizard: [] }, sent],
    ['another mark', form, { ...sent, __wizard__: 'true' }],
    ['drafts that are no object', form, { ...sent, drafts: [] }],
  ])('are nothing special for %s', (_what, some, values) => {
    expect(withoutDrafts(some, values, 'without skipped')).toBe(values)
  })

  test('go back in the shape in which they came', () => {
    expect(inShapeOf(form, sent, { ...drafts, n: 6 })).toEqual({ ...sent, n: 6 })
  })
})
