import { describe, expect, test } from 'vitest'
import type { Form } from '../../../control-plane/src/forms/form.js'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'
import { reachedSubforms } from '../../../control-plane/src/forms/subforms.js'
import { mayUploadFiles, mayUseForm } from '../../../control-plane/src/forms/visibility.js'

const parse = (more: object) =>
  parseFormFile('f.yml', JSON.stringify({ name: 'f', type: 'ansible', playbook: 'x.yml', ...more }, null, 1))

function formOf(more: object): Form {
  const { forms, errors } = parse(more)
  expect(errors).toEqual([])
  const [first] = forms
  if (!first) throw new Error('there is no form')
  return first.form
}
describe('who may use a form', () => {
  const user = (roles: string[], isAdmin = false) => ({ isAdmin, roles })
  test.each<[string[], { isAdmin: boolean; roles: string[] }, boolean]>([
    [['ops'], user(['ops']), true],
    [['ops', 'dev'], user(['dev', 'x']), true],
    [['ops'], user(['dev']), false],
    [['ops'], user([], true), true],
    [[], user([], true), true],
    [[], user(['ops']), false],
    [['default'], user([]), true],
    [['public'], user([]), true],
  ])('with the roles %j: %j, %j', (roles, caller, may) => {
    expect(mayUseForm(caller, { roles })).toBe(may)
  })

  test('files may be uploaded by whom a form with a file field is for, also in its subforms', () => {
    const file = [{ name: 'doc', type: 'file' }]
    const subform = formOf({ name: 'sub', type: 'subform', playbook: undefined, fields: file, roles: ['ops'] })
    const plain = formOf({ name: 'plain', roles: ['ops'] })
    const direct = formOf({ name: 'direct', roles: ['ops'], fields: file })
    const rows = formOf({ name: 'rows', roles: ['ops'], fields: [{ name: 'l', type: 'list', subform: 'sub' }] })
    const may = (...forms: Form[]) => mayUploadFiles(user(['ops']), forms)
    expect([may(), may(plain, subform), may(plain, direct), may(rows), may(rows, subform)]).toEqual([
      false,
      false,
      true,
      false,
      true,
    ])
    expect(mayUploadFiles(user(['dev']), [direct, rows, subform])).toBe(false)
    // A form that is no subform is no part of another one.
    expect(may(rows, formOf({ name: 'sub', roles: ['dev'], fields: file }))).toBe(false)
  })
})

test('subforms are reached through others, each once, also when they contain themselves', () => {
  const list = (subform: string) => ({ fields: formOf({ fields: [{ name: 'l', type: 'list', subform }] }).fields })
  const subforms = new Map([
    ['a', list('b')],
    ['b', list('a')],
    ['step', list('gone')],
    ['alone', list('a')],
  ])
  const { fields, wizard } = formOf({
    fields: [{ name: 'l', type: 'list', subform: 'a' }],
    wizard: [{ subform: 'step' }],
  })
  expect(Object.keys(reachedSubforms({ fields, wizard }, subforms)).toSorted()).toEqual(['a', 'b', 'step'])
})
