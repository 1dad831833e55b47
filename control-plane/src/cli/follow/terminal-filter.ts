import type { OutputFilter } from './ansi-strip.js'

/**
 * Where the filter is in the output. A terminal has the same states.
 * - `text`: what is shown.
 * - `escape`: after ESC; the next character says what follows.
 * - `short`: in a short command (ESC, blank to `/`, one more character).
 * - `control`: in a control sequence (CSI), until its last character.
 * - `string`: in the text of a command (OSC: title, clipboard; DCS: queries), until its end or the end of the line.
 */
type State = 'text' | 'escape' | 'short' | 'control' | 'string'

const ESC = '\u001b'
const CSI = '\u009b'
/** DCS, SOS, OSC, PM, APC as one character. */
const STRING_STARTS = '\u0090\u0098\u009d\u009e\u009f'
/** The letters that begin the same after ESC. `k` sets the title of a window of the program screen. */
const STRING_LETTERS = 'PX]^_k'
/** What ends a string: BEL, ST, CAN, SUB, or a line end. So a command that is cut off does not hide the lines after it. */
const STRING_ENDS = '\u0007\u009c\u0018\u001a\r\n'
/** Colours and styles: `CSI … m`. With a mark such as `>` before the numbers it is a command for the keyboard. */
const COLOR = /^[\d;:]*$/
/** A longer sequence is no colour. */
const MAX_COLOR_LENGTH = 64
/** Never shown: control characters except tab and line ends, DEL, C1, and characters that change the direction of text. */
const NEVER_SHOWN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
const RESET = `${ESC}[0m`

/**
 * Makes a filter for the output of a job on a terminal. It lets through text, line feeds, carriage returns, tabs and, when
 * `color` is true, colours. It leaves out all other commands, because they could write into the clipboard, have the terminal
 * type answers, or rewrite the screen. It also leaves out characters that change the direction of text.
 */
export function createTerminalFilter(color: boolean): OutputFilter {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let state: State = 'text'
  let parameters = ''
  let isColored = false

  function controlEnd(last: string): string {
    if (!color || last !== 'm' || parameters.length > MAX_COLOR_LENGTH || !COLOR.test(parameters)) return ''
    isColored = !/^0*$/.test(parameters)
    return `${ESC}[${parameters}m`
  }

  /** Takes one character; returns what the terminal gets. */
  function take(character: string): string {
    if (character === ESC) {
      state = 'escape'
      return ''
    }
    if (state === 'string') {
      if (!STRING_ENDS.includes(character)) return ''
      state = 'text'
      return shown(character)
    }
    // A line end or another control character ends a command that has begun.
    if (state !== 'text' && character >= ' ' && character < '\u007f') return takeOfCommand(character)
    state = character === CSI ? 'control' : STRING_STARTS.includes(character) ? 'string' : 'text'
    parameters = ''
    return shown(character)
  }

  function takeOfCommand(character: string): string {
    if (state === 'control') {
      if (character < '@') {
        if (parameters.length <= MAX_COLOR_LENGTH) parameters += character
        return ''
      }
      state = 'text'
      return controlEnd(character)
    }
    parameters = ''
    if (character < '0') state = 'short'
    else if (state === 'short') state = 'text'
    else state = character === '[' ? 'control' : STRING_LETTERS.includes(character) ? 'string' : 'text'
    return ''
  }

  function filtered(text: string): string {
    if (state === 'text' && !NEVER_SHOWN.test(text)) return text
    let result = ''
    for (const character of text) result += take(character)
    return result
  }

  return {
    push: (bytes) => filtered(decoder.decode(bytes, { stream: true })),
    end: () => filtered(decoder.decode()) + (isColored ? RESET : ''),
  }
}

/** The character, or an empty text when it is never shown. */
function shown(character: string): string {
  return NEVER_SHOWN.test(character) ? '' : character
}
