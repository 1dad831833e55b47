import { describe, expect, test } from 'vitest'
import { collectForms } from '../../../control-plane/src/forms/files/collect-forms.js'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'
import { NOW, check, formOf } from './check.js'
import { loadQuickJs } from '../../../control-plane/src/forms/sandbox/quickjs.js'

describe('a function of the installation', () => {
  /** The value of an expression where the installation has this file, or why there is none. */
  async function called(functions: string, expression = 'fnc.f()'): Promise<unknown> {
    const fields = [{ name: 'e', type: 'expression', runLocal: true, expression }]
    const { extravars, details } = await check(formOf(fields), {}, { functions })
    const [error] = details.validationErrors.e ?? []
    return error ? { failed: error.description.replace('its expression failed: ', '') } : extravars.e
  }

  test.each([
    ['export const f = () => 1', 'fnc.f()', 1],
    ['export default { f: () => 2 }', 'fnc.f()', 2],
    // Of two with one name, the one that is exported by its name counts.
    ['export const f = () => 1\nexport default { f: () => 2, g: () => 3 }', '[fnc.f(), fnc.g()]', [1, 3]],
    ['export const f = () => 1\nexport const text = "no function"', 'Object.keys(fnc)', ['f']],
    ['export default () => 1', 'Object.keys(fnc)', []],
    ["import logger from '../lib/logger.js'\nexport const f = () => { logger.info('x'); return 1 }", 'fnc.f()', 1],
    ["import logger from 'lib/logger'\nexport const f = () => { logger.debug('x'); return 1 }", 'fnc.f()', 1],
    ['export const f = async () => 4', 'fnc.f()', 4],
    ['export const f = await Promise.resolve(() => 5)', 'fnc.f()', 5],
    ["export const f = () => fn.fnTime('2027-03-04').year()", 'fnc.f()', 2027],
    ['export const f = () => String(fnc[Symbol.toPrimitive])', 'fnc.f()', 'undefined'],
  ])('of %j: %s', async (functions, expression, value) => {
    expect(await called(functions, expression)).toEqual(value)
  })

  test.each([
    ['export const g = 1', 'fnc.f is not in functions.js'],
    ['export const f = () => fnc.toString()', 'fnc.toString is not in functions.js'],
    ['export function f( {', /^functions\.js, line 1: /],
    ['\n\nexport const f = gone.b', "functions.js, line 3: 'gone' is not defined"],
    ["import fs from 'fs'\nexport const f = () => 1", 'functions.js: it cannot import "fs"'],
    ["import x from './mylib/logger.js.txt'\nexport const f = () => 1", /it cannot import/],
    [
      'exports.f = () => 1',
      "functions.js, line 1: 'exports' is not defined: write it as a module, with export function",
    ],
    ['module.exports = {}', /'module' is not defined: write it as a module, with export function$/],
    ['const fs = require("fs")', /'require' is not defined: write it as a module, with export function$/],
    ['throw 5', 'functions.js: 5'],
    ['throw null', 'functions.js: null'],
    ['await Promise.reject(new Error("no"))', /^functions\.js.*: no$/],
    ['await new Promise(() => undefined)', 'functions.js: it waits for a promise that nobody keeps'],
    ['for (;;) {}', /^functions\.js.*: it takes too long$/],
  ])('of a file that cannot be used says why: %j', async (functions, reason) => {
    expect(await called(functions)).toEqual({
      failed: typeof reason === 'string' ? reason : expect.stringMatching(reason),
    })
  })

  test('is loaded only for a script that calls one, and a script that fails spoils no other', async () => {
    const open = await loadQuickJs()
    const evaluator = open(NOW, 'throw new Error("never loaded")')
    expect(evaluator.evaluate('1 + 1', {})).toEqual({ ok: true, value: 2 })
    expect(evaluator.evaluate('fnc.f()', {})).toMatchObject({ ok: false })
    expect(evaluator.evaluate('1 + 2', {})).toEqual({ ok: true, value: 3 })
    expect(evaluator.close()).toBe(true)
  })
})

describe('the result of a script', () => {
  const result = async (script: string) => (await loadQuickJs())(NOW).evaluate(script, {})

  test('has 1 MiB as JSON at most', async () => {
    const text = (length: number) => `'x'.repeat(${length - 2})`
    expect((await result(text(1024 * 1024))).ok).toBe(true)
    expect(await result(text(1024 * 1024 + 1))).toEqual({ ok: false, reason: 'the result is too large' })
  })

  test('has 100 levels at most', async () => {
    const nested = (levels: number) => `JSON.parse('${'['.repeat(levels)}${']'.repeat(levels)}')`
    expect((await result(nested(100))).ok).toBe(true)
    expect(await result(nested(101))).toEqual({ ok: false, reason: 'the result is nested too deep' })
    expect((await result('[null, {a: null}]')).ok).toBe(true)
  })

  test('is a reason when it fails, of 200 characters at most', async () => {
    expect(await result('throw 5')).toMatchObject({ ok: false })
    expect(await result('(() => { throw 5 })()')).toEqual({ ok: false, reason: '5' })
    expect(await result('(() => { throw null })()')).toEqual({ ok: false, reason: 'null' })
    expect(await result('(() => { throw {} })()')).toMatchObject({ ok: false, reason: '[object Object]' })
    expect(await result(`(() => { throw new Error('x'.repeat(300)) })()`)).toEqual({
      ok: false,
      reason: 'x'.repeat(200),
    })
    expect(await result('(() => { for (;;) {} })()')).toEqual({ ok: false, reason: 'it takes too long' })
    expect(await result('new Promise(() => undefined)')).toMatchObject({
      reason: 'it waits for a promise that nobody keeps',
    })
    expect(await result('Promise.reject(new Error("no"))')).toEqual({ ok: false, reason: 'no' })
    expect(await result('Promise.resolve(7)')).toEqual({ ok: true, value: 7 })
  })
})

describe('the forms of several files', () => {
  const collected = (...files: string[]) =>
    collectForms(
      files.map((text, at) => parseFormFile(`${at}.yml`, text)),
      [{ file: 'x', line: null, form: null, reason: 'of the folder' }],
    )
  const form = (name: string, more = '') => `{name: ${name}, type: ansible, playbook: p.yml${more}}`
  const part = (name: string, fields: string) => `{name: ${name}, type: subform, fields: ${fields}}`
  const list = (subform: string) => `[{name: rows, type: list, subform: ${subform}}]`

  test('are those of all files, and of two with one name the first', () => {
    const { forms, byName, errors } = collected(form('a'), `[${form('b')}, ${form('a')}]`)
    expect(forms.map(({ name }) => name)).toEqual(['a', 'b'])
    expect([...byName.keys()]).toEqual(['a', 'b'])
    expect(errors).toEqual([
      { file: 'x', line: null, form: null, reason: 'of the folder' },
      { file: '1.yml', line: 1, form: 'a', reason: 'there already is a form of this name in 0.yml' },
    ])
  })

  test('have their subforms, and a form whose subform is missing is left out, with those that use it', () => {
    const { forms, subforms, errors, placed } = collected(
      form('a', `, fields: ${list('good')}`),
      form('b', `, fields: ${list('broken')}`),
      part('good', '[{name: p, type: password}]'),
      part('broken', list('none')),
      form('c', `, fields: ${list('a')}`),
    )
    expect(forms.map(({ name }) => name)).toEqual(['a', 'good'])
    expect(placed).toHaveLength(2)
    expect([...subforms.keys()]).toEqual(['good'])
    expect(errors.slice(1).map((error) => [error.form, error.reason])).toEqual([
      ['broken', 'there is no form of type subform named "none"'],
      ['c', 'there is no form of type subform named "a"'],
      ['b', 'there is no form of type subform named "broken"'],
    ])
  })
})
