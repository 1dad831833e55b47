import { describe, expect, test } from 'vitest'
import { createAnsiStripper } from '../../../control-plane/src/cli/follow/ansi-strip.js'
import { createTerminalFilter } from '../../../control-plane/src/cli/follow/terminal-filter.js'

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
})
