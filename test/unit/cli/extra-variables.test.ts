import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UsageError } from '../../../control-plane/src/cli/errors.js'
import { readExtraVars, readVariablesFile } from '../../../control-plane/src/cli/extra-vars.js'

let folder: string
const at = (name: string) => join(folder, name)
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-given-'))
  mkdirSync(at('folder'))
  writeFileSync(at('a=b.txt'), 'first')
  writeFileSync(at('second'), 'second one')
  symlinkSync(at('circle'), at('circle'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.catch((one: unknown) => one)
  expect(error).toBeInstanceOf(UsageError)
  return (error as UsageError).message
}

describe('extra variables', () => {
  test.each<[string, object]>([
    ['a=1', { a: '1' }],
    ['a=', { a: '' }],
    [' a = b=c ', { a: ' b=c ' }],
    ['{"a": 1, "b": [true, null]}', { a: 1, b: [true, null] }],
    ['  {"a": {}}', { a: {} }],
    ['{"a": 1e3}', { a: 1000 }],
    ['{a: 0644, b: no, c: 1e3}', { a: 420, b: false, c: '1e3' }],
  ])('as %j are %j', async (given, variables) => {
    expect(await readExtraVars([given])).toEqual(variables)
  })

  test.each([
    ['text', '-e "text": give key=value, @file.json, @file.yml or an object in JSON or YAML.'],
    ['=x', '-e "=x": give key=value, @file.json, @file.yml or an object in JSON or YAML.'],
    ['{"a"', '-e {"a": is neither JSON nor YAML: '],
    ['@/no/such/file', '-e @/no/such/file: cannot be read: ENOENT'],
  ])('as %j are refused', async (given, words) => {
    expect((await refusalOf(readExtraVars([given]))).slice(0, words.length)).toBe(words)
  })

  const fromFile = (text: string) => {
    writeFileSync(at('vars'), text)
    return readVariablesFile(at('vars'), 'the file')
  }

  test('of a file are read as Ansible reads them', async () => {
    const text = 'a: yes\nb: 0644\nc: 7\nd: [1, {e: 2}]\nf: ~\ng: 1.5\nh: {i: [3]}\nday: 2026-01-02\n'
    expect(await fromFile(text)).toEqual({
      a: true,
      b: 0o644,
      c: 7,
      d: [1, { e: 2 }],
      f: null,
      g: 1.5,
      h: { i: [3] },
      day: '2026-01-02',
    })
    expect(await fromFile('{"a": [1]}')).toEqual({ a: [1] })
    writeFileSync(at('vars'), 'a: 1')
    expect(await readExtraVars([`@${at('vars')}`])).toEqual({ a: 1 })
  })

  test('of a file are refused with a number that is too large, by its line', async () => {
    expect(await fromFile(`a: ${Number.MAX_SAFE_INTEGER}`)).toEqual({ a: Number.MAX_SAFE_INTEGER })
    expect(await refusalOf(fromFile('a: 1\nb: [-9007199254740993]\n'))).toMatch(/^the file: line 2: the number -900/)
  })

  test('as JSON or in a file that is neither JSON nor YAML are refused', async () => {
    expect(await refusalOf(fromFile('a: [1'))).toMatch(/^the file: is neither JSON nor YAML: /)
    expect(await refusalOf(fromFile('a: 1\na: 2'))).toMatch(/^the file: is neither JSON nor YAML: /)
  })
})
