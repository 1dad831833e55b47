import { expect, test } from 'vitest'
import { readYaml, YamlProblem } from '../../control-plane/src/yaml-text.js'

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
  const problem = (() => {
    try {
      return readYaml(text)
    } catch (error) {
      return error
    }
  })()
  expect(problem).toBeInstanceOf(YamlProblem)
  expect((problem as YamlProblem).line).toBe(line)
})
