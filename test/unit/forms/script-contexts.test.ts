import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { fillScript } from '../../../control-plane/src/forms/values/fill-script.js'

/** What a stranger types into a field to have it run. */
const ATTACK = `"; stolen = true; "`

/** Fills `$(value)` in, runs the script, and tells what it made and whether the value was run as code. */
function run(script: string, value = ATTACK): { result: unknown; isStolen: boolean } {
  const filled = fillScript(script, () => ({ known: true, value }), false)
  const globals = { stolen: false }
  const result: unknown = runInNewContext(filled.text, globals)
  return { result, isStolen: globals.stolen }
}

test.each([
  ['an escaped slash', String.raw`/\/'/.test("/'") ? $(value) : 0`],
  ['an escaped slash and a quote', String.raw`/a\/"/.test('a/"') ? $(value) : 0`],
  ['an escaped bracket', String.raw`/\[/.test('[') ? "" + $(value) : '/'`],
  ['a slash in brackets', String.raw`/[/']/.test("'") ? $(value) : 0`],
  ['an escaped bracket in brackets', String.raw`/[\]/']/.test("'") ? $(value) : 0`],
  ['an escaped backslash at its end', String.raw`/\\/.test("\\") ? $(value) : 0`],
])('a value after a pattern with %s stays a value', (_, script) => {
  expect(run(script)).toEqual({ result: ATTACK, isStolen: false })
})

test.each([
  ['a text with an escaped quote', String.raw`"a\"" ? $(value) : 0`],
  ['a text that ends with an escaped backslash', String.raw`"a\\" ? $(value) : 0`],
  ['a template with code in it', '`${ { a: 1 }.a }"` ? $(value) : 0'],
  ['a comment with a quote', `/* ' */ $(value)`],
  ['a comment to the end of a line', `// '\n$(value)`],
  ['a division', '4 / 2 ? $(value) : 1 / 1'],
])('a value after %s stays a value', (_, script) => {
  expect(run(script)).toEqual({ result: ATTACK, isStolen: false })
})

test.each([
  ['a pattern', String.raw`/^\/$(value)$/.source`],
  ['a text', `'$(value)'`],
  ['a template', '`${1}$(value)`'],
])('a value inside %s neither ends it nor runs', (_, script) => {
  expect(run(script).isStolen).toBe(false)
  expect(run(script, `' + (stolen = true) + '`).isStolen).toBe(false)
  expect(run(script, '${stolen = true}').isStolen).toBe(false)
})
