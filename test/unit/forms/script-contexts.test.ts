import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { fillScript } from '../../../control-plane/src/forms/values/fill-script.js'
import { codePositions } from '../../../control-plane/src/forms/values/script-contexts.js'

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
  ['an escaped slash and a quote', String.raw`/a\/"/.test('a/"') ? $(value) : 0`],
  ['an escaped bracket', String.raw`/\[/.test('[') ? "" + $(value) : '/'`],
  ['an escaped bracket in brackets', String.raw`/[\]/']/.test("'") ? $(value) : 0`],
  ['a text that ends with an escaped backslash', String.raw`"a\\" ? $(value) : 0`],
  ['a template with code in it', '`${ { a: 1 }.a }"` ? $(value) : 0'],
  ['a comment to the end of a line', `// '\n$(value)`],
  ['a division', '4 / 2 ? $(value) : 1 / 1'],
])('a value after %s stays a value', (_, script) => {
  expect(run(script)).toEqual({ result: ATTACK, isStolen: false })
})

test.each([String.raw`/^\/$(value)$/.source`, `'$(value)'`, '`${1}$(value)`'])(
  'a value inside %s neither ends it nor runs',
  (script) => {
    for (const value of [ATTACK, `' + (stolen = true) + '`, '${stolen = true}']) {
      expect(run(script, value).isStolen).toBe(false)
    }
  },
)

/** The script with `_` in the place of everything that is no code. */
function codeIn(script: string): string {
  const isCode = codePositions(script)
  return [...script].map((char, at) => (isCode(at) ? char : '_')).join('')
}

test.each([
  [`'ab' + c`, '____ + c'],
  [`a + 'b`, 'a + __'],
  [`'${'${a}'}' + b`, '______ + b'],
  ['`a${b}c` + d', '___{b}__ + d'],
  ['`${ {a: 1}.a }x` + `y`', '__{ {a: 1}.a }__ + ___'],
  ['`${`${a}b`}c` + d', '__{__{a}__}__ + d'],
  ['`$a` + b', '____ + b'],
  [String.raw`'a\'b' + c`, '______ + c'],
  ['a / b / c', 'a / b / c'],
  [`(a) / 2 / 'x'`, '(a) / 2 / ___'],
  [`a.in / 2 / 'x'`, 'a.in / 2 / ___'],
  [`f(/'/) + a`, 'f(___) + a'],
  [`return /'/ + a`, 'return ___ + a'],
  [`a + /[/']/.b`, 'a + ______.b'],
  [`/]/ + '/' + a`, '___ + ___ + a'],
  [String.raw`/\/'/ + a`, '_____ + a'],
  [`a // it's`, 'a _______'],
  [`// it's\na / b`, '_______\na / b'],
  [`/* it's */a`, '__________a'],
  ['a/*/ b', 'a_____'],
])('in %j the code is %j', (script, code) => {
  expect(codeIn(script)).toBe(code)
})

/** What a script makes of a value that is filled into it, as JSON. */
const made = (value: unknown, script = '$(value)') => {
  const { text } = fillScript(script, () => ({ known: true, value }), true)
  return JSON.stringify(runInNewContext(`(${text})`)) ?? 'undefined'
}

test.each<[unknown, string]>([
  ['5', '5'],
  [' -7.5e2 ', '-750'],
  ['007', '"007"'],
  ['true', 'true'],
  [undefined, 'undefined'],
  ['', '""'],
  ['[1, "a"]', '[1,"a"]'],
  ['{"__proto__": 1}', '{"__proto__":1}'],
  ['[1,', '"[1,"'],
  [{ a: 'x\ny' }, '{"a":"x\\ny"}'],
  [JSON.parse('{"__proto__": 1}'), '{"__proto__":1}'],
  ['[1,\n2]', '[1,2]'],
  ['a\r\nb', '"ab"'],
])('%j is read in a script as %s', (value, json) => {
  expect(made(value)).toBe(json)
})

test('inside a text of a script every value is a text', () => {
  expect(made(5, `'a$(value)'`)).toBe('"a5"')
  expect(made({ a: 1 }, '`$(value)`')).toBe(String.raw`"{\"a\":1}"`)
  expect(made('a\nb', `"$(value)"`)).toBe('"ab"')
})

test('a script without a value for a placeholder is not complete, unless it may miss', () => {
  const none = () => ({ known: false, value: undefined })
  expect(fillScript('1 + $(a) + $(b)', none, false)).toMatchObject({
    complete: false,
    missing: { inside: 'a', isAsking: false },
  })
  expect(fillScript('1 + $(a) + 2', none, true)).toEqual({ complete: true, text: '1 + undefined + 2' })
  expect(fillScript('$(a)', () => ({ known: true, value: null }), true)).toEqual({ complete: true, text: 'null' })
})
