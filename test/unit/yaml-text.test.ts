import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { expect, test } from 'vitest'
import { problemWith, readYaml, YamlProblem } from '../../control-plane/src/texts/yaml-text.js'

const TEXT = `# What this is.
---
name: one
steps:
  - {name: a}
  - name: b
    size: 3
`

test('a part of a YAML text has the line where it begins; what is not there has that of the part around it', () => {
  const { lineOf } = readYaml(TEXT)
  const lines = [['steps', 1, 'size'], ['steps', 1, 'missing'], ['steps', 7], ['name'], ['missing'], []].map(lineOf)
  expect(lines).toEqual([7, 6, 5, 3, 3, 3])
  expect(readYaml('# Only this.\n').lineOf([])).toBe(1)
})

test.each([
  ['a: 1\nb: [', 2],
  ['a: 1\nb: {c: 12345678901234567890}\n', 2],
])('a text that is no YAML, or holds a number that cannot be kept, is refused with its line', (text, line) => {
  expect(() => readYaml(text)).toThrow(expect.objectContaining({ line }) as Error)
})

test.each([
  ['0x10', true],
  ['0xFFFFFFFFFFFFFFFF', false],
  ['-.5', true],
  ['1e3', true],
  ['1e400', false],
  ['.inf', false],
  ['9007199254740991', true],
  ['9007199254740993', false],
  ['0.1', true],
  ['0.1000000000000000055511151231257827', false],
  ['"9007199254740993"', true],
])('the value %s can be kept: %s', (value, isKept) => {
  if (isKept) expect(readYaml(`a: ${value}\n`).value).toBeTypeOf('object')
  else expect(() => readYaml(`a: ${value}\n`)).toThrow(`line 1: the number ${value} cannot be kept digit by digit`)
})

test('merged maps and aliases are read, and an alias of nothing is a mistake', () => {
  expect(readYaml('a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: *a\n').value).toEqual({
    a: { x: 1 },
    b: { x: 1, y: 2 },
    c: { x: 1 },
  })
  expect(() => readYaml('a: *nothing\n')).toThrow(YamlProblem)
})

test('a value that does not fit a schema is told with its place, and each reason once', () => {
  const schema = Compile(
    Type.Object({ 'a/b~c': Type.Optional(Type.Object({ x: Type.Integer() })), n: Type.Optional(Type.String()) }),
  )
  const problem = (value: unknown) => problemWith(schema, value)
  expect(problem({})).toBeNull()
  expect(problem({ 'a/b~c': { x: 1.5 } })).toEqual({ path: ['a/b~c', 'x'], reason: 'a/b~c.x must be integer' })
  expect(problem(7)).toEqual({ path: [], reason: 'must be object' })
})
