import { describe, expect, test } from 'vitest'
import { createAnsiStripper } from '../../../control-plane/src/cli/follow/ansi-strip.js'
import { type ServerSentEvent, serverSentEvents } from '../../../control-plane/src/cli/follow/sse-lines.js'
import { createTerminalFilter } from '../../../control-plane/src/cli/follow/terminal-filter.js'
import { createWake } from '../../../control-plane/src/cli/follow/wake.js'

const bytes = (text: string) => Buffer.from(text)

/** What the terminal gets of an output, whole and byte by byte. Both must be the same. */
function onTerminal(output: string, color = true): string {
  const whole = createTerminalFilter(color)
  const pieces = createTerminalFilter(color)
  const shown = whole.push(bytes(output)) + whole.end()
  const inPieces = [...bytes(output)].map((byte) => pieces.push(Uint8Array.of(byte))).join('') + pieces.end()
  expect(inPieces).toBe(shown)
  return shown
}

const ESC = '\u001b'
describe('output on a terminal', () => {
  test.each([
    ['text, tabs and line ends', 'a\tb\r\nc é', 'a\tb\r\nc é'],
    ['a colour', `${ESC}[31mred${ESC}[0m`, `${ESC}[31mred${ESC}[0m`],
    ['a colour that nobody ends', `${ESC}[1;31mred`, `${ESC}[1;31mred${ESC}[0m`],
    ['a colour after one character', `\u009b32mgreen${ESC}[m`, `${ESC}[32mgreen${ESC}[m`],
    ['a move', `a${ESC}[2Jb${ESC}[1;1Hc`, 'abc'],
    ['a mark before the numbers', `a${ESC}[>4mb`, 'ab'],
    ['a title', `a${ESC}]0;title\u0007b`, 'ab'],
    ['a title of another kind', `a${ESC}ktitle${ESC}\\b`, 'ab'],
    ['a query', `a${ESC}P$q${ESC}\\b`, 'ab'],
    ['texts that X, ^ and _ begin', `a${ESC}Xx\u0007b${ESC}^x\u0007c${ESC}_x\u0007d`, 'abcd'],
    ['a text that one character begins', 'a\u009dtitle\u009cb\u0090q\u009cc', 'abc'],
    ['a text that is cut off', `a${ESC}]0;title\nb`, 'a\nb'],
    ['a text that CAN ends', `a${ESC}]0;x\u0018b`, 'ab'],
    ['a blank after ESC', `a${ESC} Fb`, 'ab'],
    ['a digit after ESC', `a${ESC}0bc`, 'abc'],
    ['a command that ends with @', `a${ESC}[1@bc`, 'abc'],
    ['a mark of the order of bytes', '\ufeffa', '\ufeffa'],
    ['a short command', `a${ESC}(Bb${ESC}7c${ESC}#8d`, 'abcd'],
    ['a command that a line end cuts off', `a${ESC}[3\nb${ESC}\nc${ESC}(\nd`, 'a\nb\nc\nd'],
    ['two commands, the first cut off', `a${ESC}[3${ESC}[31mb`, `a${ESC}[31mb${ESC}[0m`],
    ['control characters', 'a\u0007b\u0000c\u007fd\u0085e', 'abcde'],
    ['characters that turn the text', 'a\u202eb\u2066c\u200fd\u061ce', 'abcde'],
  ])('has of %s what cannot do harm', (_what, output, shown) => {
    expect(onTerminal(output)).toBe(shown)
  })

  test('has no colours where none are wanted', () => {
    expect(onTerminal(`${ESC}[31mred${ESC}[0m ${ESC}[1mb`, false)).toBe('red b')
  })

  test('has colours of up to 64 characters', () => {
    const color = (length: number) => `${ESC}[${'1'.repeat(length)}mx${ESC}[0m`
    expect(onTerminal(color(64))).toBe(color(64))
    expect(onTerminal(color(65))).toBe(`x${ESC}[0m`)
    expect(onTerminal(color(500))).toBe(`x${ESC}[0m`)
  })

  test('ends with a reset only while a colour is on', () => {
    expect(onTerminal('plain')).toBe('plain')
    expect(onTerminal(`${ESC}[31ma${ESC}[00mb`)).toBe(`${ESC}[31ma${ESC}[00mb`)
    expect(onTerminal(`${ESC}[31ma${ESC}[2Kb`)).toBe(`${ESC}[31mab${ESC}[0m`)
  })
})

describe('output without colours', () => {
  test('is plain, also where a piece ends inside of a colour or a character', () => {
    const stripper = createAnsiStripper()
    const output = bytes(`a${ESC}[31mé${ESC}[0mb`)
    const shown = [...output].map((byte) => stripper.push(Uint8Array.of(byte))).join('')
    expect(shown + stripper.end()).toBe('aéb')
    expect(stripper.end()).toBe('')
  })

  test('keeps back 256 characters of a colour without an end, and no more', () => {
    const kept = (length: number) => createAnsiStripper().push(bytes(`a${ESC}[${'1'.repeat(length - 2)}`))
    expect(kept(256)).toBe('a')
    expect(kept(257).length).toBeGreaterThan(1)
    const stripper = createAnsiStripper()
    expect(stripper.push(bytes(`${ESC}[3`)) + stripper.push(bytes('1ma'))).toBe('a')
  })
})

describe('live events', () => {
  async function read(...pieces: string[]) {
    let heard = 0
    const body = async function* () {
      for (const piece of pieces) yield await Promise.resolve(bytes(piece))
    }
    const events: ServerSentEvent[] = []
    for await (const event of serverSentEvents(body(), () => (heard += 1))) events.push(event)
    return { events, heard }
  }

  test('have a name and data, which may have lines', async () => {
    expect(await read('event: job\ndata: 1\ndata:2\n\n', 'data\ndata: x:y\r\n\r\n')).toEqual({
      heard: 2,
      events: [
        { event: 'job', data: '1\n2' },
        { event: 'message', data: '\nx:y' },
      ],
    })
  })

  test('may come in pieces, with other lines between them, and only whole ones count', async () => {
    const { events, heard } = await read(
      'retry: 5\n: comment\nev',
      'ent: a\nda',
      'ta: é\n\nevent: lost\n\ndata: b\n\ndata: cut',
    )
    expect(events).toEqual([
      { event: 'a', data: 'é' },
      { event: 'message', data: 'b' },
    ])
    expect(heard).toBe(3)
  })
})

test('a live event may come byte by byte', async () => {
  const body = async function* () {
    for (const byte of bytes('data: é\n\n')) yield await Promise.resolve(Uint8Array.of(byte))
  }
  const events: ServerSentEvent[] = []
  for await (const event of serverSentEvents(body(), () => undefined)) events.push(event)
  expect(events).toEqual([{ event: 'message', data: 'é' }])
})

describe('a bell', () => {
  /** Whether a promise is done once everything has run that waits for nothing else. */
  const isDone = async (promise: Promise<unknown>) => {
    let done = false
    promise.then(
      () => (done = true),
      () => (done = true),
    )
    await new Promise((resolve) => setImmediate(resolve))
    return done
  }
  const never = new AbortController().signal

  test('that rang before is heard at once, and only once', async () => {
    const wake = createWake()
    wake.ring()
    wake.ring()
    expect(await isDone(wake.heard(never))).toBe(true)
    const next = wake.heard(never)
    expect(await isDone(next)).toBe(false)
    wake.ring()
    expect(await isDone(next)).toBe(true)
    expect(await isDone(wake.heard(never))).toBe(false)
  })

  test('rings with an error, for who waits and for who comes later', async () => {
    const wake = createWake()
    const waiting = wake.heard(never)
    wake.fail(new Error('away'))
    expect(await isDone(waiting)).toBe(true)
    await expect(waiting).rejects.toThrow('away')
    await expect(wake.heard(never)).rejects.toThrow('away')
  })

  test('is not waited for when the signal aborts, and leaves no listener behind', async () => {
    const aborted = new AbortController()
    const wake = createWake()
    const listeners: string[] = []
    const { signal } = aborted
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners.push('added')
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners.push('removed')
      remove(...args)
    }
    const first = wake.heard(signal)
    wake.ring()
    await first
    expect(listeners).toEqual(['added', 'removed'])
    const second = wake.heard(signal)
    aborted.abort()
    expect(await isDone(second)).toBe(true)
    expect(await isDone(wake.heard(signal))).toBe(true)
  })
})
