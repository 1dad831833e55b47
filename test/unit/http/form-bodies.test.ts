import { expect, test } from 'vitest'
import { formFields, isJsonText } from '../../../control-plane/src/http/server/form-bodies.js'

const fieldsOf = (count: number) => Array.from({ length: count }, (_, index) => `n${index}=${index}`).join('&')

test('a body may have 1000 fields and no more', () => {
  expect(Object.keys(formFields(fieldsOf(1000)))).toHaveLength(1000)
  expect(() => formFields(fieldsOf(1001))).toThrow(expect.objectContaining({ code: 'too_many_fields' }))
})

test('values are texts, and no name reaches the prototype', () => {
  const fields = formFields('a=1&b=x+y%21&__proto__=evil&a=2')
  expect(fields).toEqual({ a: '2', b: 'x y!' })
  expect(Object.getPrototypeOf(fields)).toBe(Object.prototype)
})

test('a body that begins like an object is JSON', () => {
  expect(['{"a":1}', ' \n{', 'a=1', '[1]', ''].map(isJsonText)).toEqual([true, true, false, false, false])
})
