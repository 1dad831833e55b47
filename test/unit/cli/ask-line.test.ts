import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ask, readPipedSecret } from '../../../control-plane/src/cli/ask.js'
import { InterruptedError, UsageError } from '../../../control-plane/src/cli/errors.js'
import { askedSecret, givenSecret } from '../../../control-plane/src/cli/secret-input.js'
import type { Output, Terminal } from '../../../control-plane/src/cli/terminal.js'
import { waitFor } from '../../support/wait.js'

/** A terminal whose person types these lines, each after the question for it, or a pipe with a text. */
function newTerminal(typed: readonly string[], isTTY = true) {
  let shown = ''
  const modes: boolean[] = []
  const left = [...typed]
  const stdin = Object.assign(new PassThrough(), { isTTY, setRawMode: (mode: boolean) => modes.push(mode) })
  const stderr: Output = {
    isTerminal: true,
    color: false,
    columns: 80,
    write(data) {
      shown += data.toString()
      if (/: $/.test(shown)) {
        const [keys] = left.splice(0, 1)
        if (keys === undefined) stdin.end()
        else stdin.write(keys)
      }
      return Promise.resolve()
    },
  }
  const terminal = { environment: {}, stdin, stdout: stderr, stderr } as unknown as Terminal
  return { terminal, stdin, modes, shown: () => shown }
}

describe('a line that is asked for', () => {
  test('is what was typed and corrected, and is shown while it is typed', async () => {
    const { terminal, shown } = newTerminal(['ab\x7fc\r'])
    expect(await ask(terminal, 'Name: ', false)).toBe('ac')
    // The screen may come later than the answer.
    await waitFor('what was typed, on the screen', () => /^Name: .*a.*b.*c/s.test(shown()), { everyMs: 1 })
  })

  test('is not shown when it is hidden, and a line break follows it', async () => {
    const { terminal, shown } = newTerminal(['swordfish\r'])
    expect(await ask(terminal, 'Secret: ', true)).toBe('swordfish')
    expect(shown()).toBe('Secret: \n')
  })

  test('is given back only when that line break is on the screen', async () => {
    const { terminal } = newTerminal(['swordfish\r'])
    const { write } = terminal.stderr
    let isBroken = false
    const stderr: Output = {
      ...terminal.stderr,
      async write(data) {
        await write(data)
        await new Promise(setImmediate)
        if (data === '\n') isBroken = true
      },
    }
    await ask({ ...terminal, stderr }, 'Secret: ', true)
    expect(isBroken).toBe(true)
  })

  test('has no line break of its own when it is shown: the person typed one', async () => {
    const { terminal, shown } = newTerminal(['a\r'])
    await ask(terminal, 'Name: ', false)
    await waitFor('a line break', () => shown().includes('\n'), { everyMs: 1 })
    expect(shown().match(/\n/g)).toHaveLength(1)
  })

  test('leaves the terminal as it was', async () => {
    const { terminal, stdin, modes } = newTerminal(['a\r'])
    await ask(terminal, 'Name: ', true)
    expect(modes).toEqual([true, false])
    expect(stdin.isPaused()).toBe(true)
  })

  test.each([
    ['\x03', InterruptedError, 'Stopped; nothing was changed.'],
    ['\x04', UsageError, 'The input ended before an answer was given.'],
  ])('that is broken off with the key %j changes nothing', async (key, kind, words) => {
    const { terminal, modes } = newTerminal([key])
    const error: unknown = await ask(terminal, 'Name: ', false).catch((one: unknown) => one)
    expect(error).toBeInstanceOf(kind)
    expect(error).toMatchObject({ message: words })
    expect(modes.at(-1)).toBe(false)
  })

  test('is missed when the input ends', async () => {
    const { terminal } = newTerminal([])
    await expect(ask(terminal, 'Name: ', false)).rejects.toThrow('The input ended before an answer was given.')
  })

  test('fails when the question cannot be written', async () => {
    const { terminal } = newTerminal([])
    const stderr: Output = { ...terminal.stderr, write: () => Promise.reject(new Error('The pipe is gone.')) }
    await expect(ask({ ...terminal, stderr }, 'Name: ', false)).rejects.toThrow('The pipe is gone.')
  })
})

describe('a secret that is asked for', () => {
  test('is typed twice, and neither is shown', async () => {
    const { terminal, shown } = newTerminal(['swordfish\r', 'swordfish\r'])
    expect(await askedSecret(terminal, 'db')).toBe('swordfish')
    expect(shown()).toBe('Secret of db: \nOnce more: \n')
  })

  test.each([
    [['one\r', 'other\r'], true, 'The two secrets are different; nothing was changed.'],
    [['\r'], true, 'The secret is empty; nothing was changed.'],
    [['one\r', 'one\r'], false, 'No terminal to ask for the secret: use --password-stdin or --password-file.'],
  ])('as %j (at a terminal: %j) is refused', async (typed, isTTY, words) => {
    const error: unknown = await askedSecret(newTerminal(typed, isTTY).terminal, 'db').catch((one: unknown) => one)
    expect(error).toBeInstanceOf(UsageError)
    expect(error).toMatchObject({ message: words })
  })
})

describe('a secret that is given', () => {
  function piped(text: string): Terminal {
    const { terminal, stdin } = newTerminal([], false)
    stdin.end(text)
    return terminal
  }
  function fileWith(text: string): string {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-secret-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'secret'), text)
    return join(folder, 'secret')
  }
  const [FROM_PIPE, NOWHERE] = [
    { passwordStdin: true, passwordFile: undefined },
    { passwordStdin: false, passwordFile: undefined },
  ]

  test.each([
    ['a', 'a'],
    ['a\n', 'a'],
    ['a\r\n', 'a'],
    ['a\n\n', 'a\n'],
    [' a\nb \n', ' a\nb '],
  ])('as %j is %j, from a pipe or a file', async (text, secret) => {
    expect(await readPipedSecret(piped(text))).toBe(secret)
    expect(await givenSecret(piped(text), FROM_PIPE)).toBe(secret)
    const file = { passwordStdin: false, passwordFile: fileWith(text) }
    expect(await givenSecret(piped('other'), file)).toBe(secret)
  })

  test('is none when neither was asked for', async () => {
    expect(await givenSecret(piped('a'), NOWHERE)).toBeUndefined()
  })

  test('is refused when it is empty, given twice, or in a file that cannot be read', async () => {
    const folder = join(fileWith('a'), '..', 'folder')
    mkdirSync(folder)
    const refused = async (text: string, passwordStdin: boolean, passwordFile?: string) => {
      const error: unknown = await givenSecret(piped(text), { passwordStdin, passwordFile }).catch(
        (one: unknown) => one,
      )
      expect(error).toBeInstanceOf(UsageError)
      return (error as UsageError).message
    }
    const empty = 'The secret is empty; nothing was changed.'
    expect(await refused('\n', true)).toBe(empty)
    expect(await refused('a', false, fileWith('\n'))).toBe(empty)
    expect(await refused('a', true, fileWith('a'))).toBe('Either --password-stdin or --password-file, not both.')
    expect(await refused('a', false, folder)).toMatch(`--password-file ${folder}: cannot be read: EISDIR`)
  })
})
