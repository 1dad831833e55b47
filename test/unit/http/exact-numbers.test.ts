import fc from 'fast-check'
import { readJson, writeJson } from '@holdfast/client'
import { findInexactNumber, isExactNumeral, parseKept, textOfKept } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { createJsonBounds } from '../../../control-plane/src/texts/json-bounds.js'
import { readYaml } from '../../../control-plane/src/texts/yaml-text.js'

const whole = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map(String)
const decimal = fc.tuple(fc.bigInt(0n, 10n ** 24n), fc.bigInt(0n, 10n ** 24n)).map(([a, b]) => `${a}.${b}`)
const double = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value))
const power = fc
  .tuple(fc.integer({ min: 0, max: 99 }), fc.integer({ min: -400, max: 400 }))
  .map(([a, b]) => `${a}e${b}`)
const numeral = fc.oneof(whole, decimal, double, power)
const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', '\\', '9', 'e', '.') }), whole)
const json = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    numeral,
    text.map((value) => JSON.stringify(value)),
    fc.constantFrom('true', 'false', 'null'),
    fc.array(tie('node'), { maxLength: 4 }).map((items) => `[${items.join(', ')}]`),
    fc
      .array(fc.tuple(text, tie('node')), { maxLength: 4 })
      .map(
        (entries) => `{${entries.map(([key, value], at) => `${JSON.stringify(`${at}${key}`)}: ${value}`).join(',')}}`,
      ),
  ),
})).node

/** Without blanks outside of strings. */
const tight = (written: string) => written.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')

test('a number is exact when JavaScript writes the same value again', () => {
  for (const exact of ['0', '-0', '0.1', '1e3', '1.50', '9007199254740991', '1e21', '5e-324', '0.30000000000000004'])
    expect({ exact: isExactNumeral(exact), numeral: exact }).toEqual({ exact: true, numeral: exact })
  const changed = ['9007199254740993', '1152921504606846976', '-9007199254740992', '1e400', '1e-400', '1e-999999999999']
  for (const inexact of [...changed, '0.1000000000000000000001', '3.14159265358979323846', '9'.repeat(2000)])
    expect({ exact: isExactNumeral(inexact), numeral: inexact }).toEqual({ exact: false, numeral: inexact })
})

test('JSON is read and written again with the same digits, and the limits of bodies see the same numbers', () => {
  fc.assert(
    fc.property(json, fc.integer({ min: 1, max: 7 }), (written, step) => {
      const { value, mark } = parseKept(written)
      const again = textOfKept(value, mark)
      const numerals = written.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? []
      const inexact = numerals.filter((found) => !isExactNumeral(found))
      expect(inexact.filter((found) => !again.includes(found))).toEqual([])
      expect(inexact.length > 0).toBe(mark !== null)
      const bounds = createJsonBounds()
      const bytes = Buffer.from(written)
      for (let at = 0; at < bytes.length; at += step) bounds.take(bytes.subarray(at, at + step))
      expect(bounds.inexactNumber() === null).toBe(mark === null)
      expect(findInexactNumber(written) === null).toBe(mark === null)
      if (mark === null) expect(textOfKept(value, mark)).toBe(JSON.stringify(JSON.parse(written)))
    }),
    { numRuns: 1000 },
  )
})

test('whole numbers of any length go through the client and back', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          whole,
          text.map((value) => JSON.stringify(value)),
        ),
      ),
      (items) => {
        const written = `{"items":[${items.join(',')}]}`
        expect(writeJson(readJson(written))).toBe(tight(written))
      },
    ),
    { numRuns: 500 },
  )
  expect(readJson('[1180591620717411303424, 5]')).toEqual([2n ** 70n, 5])
})

test('the place of an inexact number is named, and YAML with such a number is refused with its line', () => {
  expect(findInexactNumber('{"a": {"b": [1, 2.5, 1152921504606846977]}}')).toEqual({
    numeral: '1152921504606846977',
    path: 'a.b[2]',
  })
  for (const number of ['1152921504606846977', '0xFFFFFFFFFFFFFFFF', '1e400', '.inf', '-9007199254740993'])
    expect(() => readYaml(`a: 1\nb: {c: ${number}}\n`)).toThrow(`line 2: the number ${number} cannot be kept`)
  expect(readYaml('[0x10, 0.1, 5, +7, .5, "1152921504606846977", 1e3]').value).toHaveLength(7)
})
