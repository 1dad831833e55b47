import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ClientError,
  RedirectedError,
  RefusedError,
  StrangeAnswerError,
  UnavailableError,
  UnreachableError,
} from '@holdfast/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { chosenServer } from '../../../control-plane/src/cli/client/server-address.js'
import { cliErrorOf, unreachable } from '../../../control-plane/src/cli/client/words.js'
import { UsageError } from '../../../control-plane/src/cli/errors.js'
import { filePaths, whyNoFile } from '../../../control-plane/src/cli/uploads.js'
import { readExtraVars, readVariablesFile } from '../../../control-plane/src/cli/extra-vars.js'

type Session = Parameters<typeof chosenServer>[2]
const session = { server: 'http://saved' } as unknown as Session

describe('the server of a command', () => {
  test('is that of the flag, of the environment, of the session, or the one on this machine', () => {
    const environment = { HOLDFAST_SERVER: 'http://env' }
    expect(chosenServer('http://flag', environment, session)).toBe('http://flag')
    expect(chosenServer('', environment, session)).toBe('http://env')
    expect(chosenServer(undefined, { HOLDFAST_SERVER: '' }, session)).toBe('http://saved')
    expect(chosenServer(undefined, {}, null)).toBe('http://127.0.0.1:8000')
  })

  test.each([
    ['jobs.example.com', 'http://jobs.example.com'],
    ['HTTPS://Jobs.example.com/', 'https://jobs.example.com'],
    ['https://a/api/v2', 'https://a'],
    ['https://a/api/v2/job/5', 'https://a'],
    ['https://a/jobs//', 'https://a/jobs'],
    ['a:8000', 'http://a:8000'],
  ])('%s is %s', (given, server) => {
    expect(chosenServer(given, {}, null)).toBe(server)
  })

  test.each([
    ['ftp://a', 'must begin with http:// or https://'],
    ['http://', 'is not a server address'],
    ['http://ann@a', 'holds no password'],
    ['http://:secret@a', 'holds no password'],
  ])('%s is refused', (given, reason) => {
    expect(() => chosenServer(given, {}, null)).toThrow(UsageError)
    expect(() => chosenServer(given, {}, null)).toThrow(reason)
  })
})

describe('a server that cannot be reached', () => {
  const coded = (code: string, message = 'm') => Object.assign(new Error(message), { code })
  test.each<[unknown, string]>([
    [coded('ECONNREFUSED'), 'connection refused'],
    [coded('ENOTFOUND'), 'there is no host of that name'],
    [coded('EAI_AGAIN'), 'there is no host of that name'],
    [coded('CERT_HAS_EXPIRED'), 'its certificate is not trusted (CERT_HAS_EXPIRED;'],
    [coded('DEPTH_ZERO_SELF_SIGNED_CERT'), 'its certificate is not trusted'],
    [coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'its certificate is not trusted'],
    [coded('OTHER', 'broke'), 'broke'],
    [coded('OTHER', ''), 'OTHER'],
    [new DOMException('late', 'TimeoutError'), 'no answer in time'],
    [new TypeError('fetch failed', { cause: coded('ECONNREFUSED') }), 'connection refused'],
    [new TypeError('fetch failed', { cause: 'text' }), 'fetch failed'],
    ['text', 'text'],
  ])('by %o is told in words', (error, words) => {
    expect(unreachable('http://a', error).message).toContain(`Cannot reach http://a: ${words}`)
  })
})

describe('an error of the client', () => {
  const A = 'http://a'
  const refused = (
    status: number,
    answer: ConstructorParameters<typeof RefusedError>[2],
    retry: number | null = null,
  ) => new RefusedError(A, status, answer, retry)
  test.each<[ClientError, string, number]>([
    [new UnreachableError(A, 'm', { cause: 'gone' }), 'Cannot reach http://a: gone. Is the control plane', 3],
    [new RedirectedError(A, 'http://b'), 'http://a redirects to http://b. Name the final address with --server.', 2],
    [
      new UnavailableError(A, 503, { error: 'It is busy' }, 'r1'),
      'http://a cannot answer now (503, request r1): It is busy. Try again later; its log says more.',
      3,
    ],
    [
      new UnavailableError(A, 502, null, null),
      'http://a cannot answer now (502): no reason given. Try again later; its log says more.',
      3,
    ],
    [
      new StrangeAnswerError(A, 200, 'GET /job', 'not understood', 'it is odd'),
      "This client does not understand the server: it is odd. Use the client of the server's version.",
      1,
    ],
    [
      new StrangeAnswerError(A, 200, 'GET /job', 'not JSON', 'it is odd'),
      'This client does not understand the server: it is odd. Is it a Holdfast server?',
      1,
    ],
    [refused(401, { error: 'No' }), 'No. Sign in with: holdfast login --server http://a', 4],
    [refused(403, { error: 'Why?' }), 'Why?', 5],
    [refused(429, { error: 'Too much.' }, 7), 'Too much. Try again in 7 s.', 5],
    [refused(429, { error: 'Too much!' }), 'Too much!', 5],
    [refused(409, { error: 'No' }, 7), 'No.', 5],
    [refused(400, { error: 'No', details: { a: 1 } }), 'No.\n  a: 1', 5],
  ])('%o ends the command with its words', (error, words, code) => {
    const { message, exitCode } = cliErrorOf(error)
    expect(message).toContain(words)
    expect(message.endsWith(words) || error instanceof UnreachableError).toBe(true)
    expect(exitCode).toBe(code)
  })
})

describe('files of a launch', () => {
  test('are named by their fields, each once, and must be there', async () => {
    const here = import.meta.filename
    expect([...(await filePaths([` doc =${here}`, `d=${here}`]))]).toEqual([
      ['doc', here],
      ['d', here],
    ])
    for (const wrong of ['doc', '=x', ' =x', 'doc='])
      await expect(filePaths([wrong])).rejects.toThrow('give field=path')
    await expect(filePaths([`doc=${here}`, `doc=${here}`])).rejects.toThrow('--file doc: the field is given twice.')
    await expect(filePaths([`doc=${tmpdir()}`])).rejects.toThrow(`--file doc=${tmpdir()}: is not a file.`)
    expect(await whyNoFile('/nowhere/x')).toBe('there is no such file')
    expect(await whyNoFile(join(here, 'below'))).toMatch(/^cannot be read: /)
    expect(await whyNoFile(here)).toBeNull()
  })
})

describe('extra variables', () => {
  function fileWith(text: string): string {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-vars-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'v.yml'), text)
    return join(folder, 'v.yml')
  }

  test('are texts, JSON or files, and a later one replaces an earlier one', async () => {
    const file = fileWith('a: yes\nb: 0644\nc: {d: [1, 1.5, null, 9007199254740991, 9007199254740993]}\n')
    expect(await readExtraVars(['a=1', ' x = y = z', ' {"n": 5}', `@${file}`, 'e='])).toEqual({
      a: true,
      x: ' y = z',
      n: 5,
      b: 0o644,
      c: { d: [1, 1.5, null, 9007199254740991, 9007199254740993n] },
      e: '',
    })
    expect(await readExtraVars([])).toEqual({})
  })

  test.each([
    ['=a', 'give key=value'],
    ['a', 'give key=value'],
    ['{"a"', 'is not JSON'],
    ['@/nowhere/v.yml', 'cannot be read'],
  ])('%s are refused', async (given, reason) => {
    await expect(readExtraVars([given])).rejects.toThrow(UsageError)
    await expect(readExtraVars([given])).rejects.toThrow(reason)
  })

  test.each([
    ['[1]', 'must hold an object of variables'],
    ['', 'must hold an object of variables'],
    ['text', 'must hold an object of variables'],
    ['a: [', 'is neither JSON nor YAML'],
  ])('of a file with %j are refused', async (text, reason) => {
    await expect(readVariablesFile(fileWith(text), 'this')).rejects.toThrow(`this: ${reason}`)
  })
})
