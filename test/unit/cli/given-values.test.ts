import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@holdfast/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UsageError } from '../../../control-plane/src/cli/errors.js'
import { readExtraVars, readVariablesFile } from '../../../control-plane/src/cli/extra-vars.js'
import { filePaths, uploadFiles, whyNoFile } from '../../../control-plane/src/cli/uploads.js'

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

describe('files of a launch', () => {
  test('are named by their fields, and the path may have an equals sign', async () => {
    const paths = await filePaths([`f=${at('a=b.txt')}`, ` list[0].g =${at('second')}`])
    expect([...paths]).toEqual([
      ['f', at('a=b.txt')],
      ['list[0].g', at('second')],
    ])
    expect([...(await filePaths([]))]).toEqual([])
    expect([...(await filePaths([`a=${at('second')}`]))]).toEqual([['a', at('second')]])
  })

  test.each(['text', '=path', ' =path', 'f=', ''])('as %j are refused', async (given) => {
    expect(await refusalOf(filePaths([given]))).toBe(`--file ${JSON.stringify(given)}: give field=path.`)
  })

  test('for one field are only one, and each must be there', async () => {
    const twice = [`f=${at('second')}`, `f=${at('a=b.txt')}`]
    expect(await refusalOf(filePaths(twice))).toBe('--file f: the field is given twice.')
    expect(await refusalOf(filePaths([`f=${at('gone')}`]))).toBe(`--file f=${at('gone')}: there is no such file.`)
    expect(await refusalOf(filePaths([`f=${at('folder')}`]))).toBe(`--file f=${at('folder')}: is not a file.`)
  })

  test('that are missing have a reason in words', async () => {
    expect(await whyNoFile(at('second'))).toBeNull()
    expect(await whyNoFile(at('folder'))).toBe('is not a file')
    expect(await whyNoFile(at('gone'))).toBe('there is no such file')
    expect(await whyNoFile(at('circle'))).toMatch(/^cannot be read: ELOOP/)
  })

  test('are uploaded with their names and bytes, and described by field', async () => {
    const uploaded: [string, string][] = []
    const uploadFile = async ({ body }: { body: FormData }) => {
      const file = body.get('file') as File
      uploaded.push([file.name, await file.text()])
      return { number: uploaded.length }
    }
    const client = { uploadFile } as unknown as Client
    const paths = new Map([
      ['f', at('a=b.txt')],
      ['g', at('second')],
    ])
    expect(await uploadFiles(client, paths)).toEqual({ f: { number: 1 }, g: { number: 2 } })
    expect(uploaded).toEqual([
      ['a=b.txt', 'first'],
      ['second', 'second one'],
    ])
    expect(await uploadFiles(client, new Map())).toBeNull()
    expect(uploaded).toHaveLength(2)
  })
})

describe('extra variables', () => {
  test.each<[string, object]>([
    ['a=1', { a: '1' }],
    ['a=', { a: '' }],
    [' a = b=c ', { a: ' b=c ' }],
    ['{"a": 1, "b": [true, null]}', { a: 1, b: [true, null] }],
    ['  {"a": {}}', { a: {} }],
  ])('as %j are %j', async (given, variables) => {
    expect(await readExtraVars([given])).toEqual(variables)
  })

  test('that come later replace those of the same name', async () => {
    expect(await readExtraVars(['a=1', '{"b": 2, "c": 3}', 'b=x'])).toEqual({ a: '1', b: 'x', c: 3 })
    expect(await readExtraVars([])).toEqual({})
  })

  test.each([
    ['text', '-e "text": give key=value, @file.json, @file.yml or an object in JSON.'],
    ['=x', '-e "=x": give key=value, @file.json, @file.yml or an object in JSON.'],
    ['{"a"', '-e {"a": is not JSON: '],
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
      day: new Date('2026-01-02T00:00:00Z'),
    })
    expect(await fromFile('{"a": [1]}')).toEqual({ a: [1] })
    writeFileSync(at('vars'), 'a: 1')
    expect(await readExtraVars([`@${at('vars')}`])).toEqual({ a: 1 })
  })

  test('of a file keep all digits of numbers that are too large', async () => {
    const [safe, large] = [Number.MAX_SAFE_INTEGER, '9007199254740993']
    expect(await fromFile(`a: ${safe}\nb: ${large}\nc: [-${large}]\n`)).toEqual({
      a: safe,
      b: BigInt(large),
      c: [-BigInt(large)],
    })
  })

  test.each(['- 1', 'text', '7', '~', ''])('of a file with %j are refused: they have no names', async (text) => {
    expect(await refusalOf(fromFile(text))).toBe('the file: must hold an object of variables.')
  })

  test('as JSON or in a file that is neither JSON nor YAML are refused', async () => {
    expect(await refusalOf(fromFile('a: [1'))).toMatch(/^the file: is neither JSON nor YAML: /)
    expect(await refusalOf(fromFile('a: 1\na: 2'))).toMatch(/^the file: is neither JSON nor YAML: /)
  })
})
