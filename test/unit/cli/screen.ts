import { PassThrough, Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import type { Screen } from '../../../control-plane/src/cli/ask/prompts.js'
import { waitFor } from '../../support/wait.js'

/** A terminal in this process, with somebody who reads its screen and presses keys. */
export interface TestScreen extends Screen {
  /** Everything that was on the screen so far, without colours. */
  text(): string
  /** Waits until a text comes behind what was seen before, and then presses keys. */
  at(text: string, ...keys: readonly string[]): Promise<void>
}

export function newTestScreen(): TestScreen {
  let text = ''
  let seen = 0
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input })
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += stripVTControlCharacters(chunk.toString())
      done()
    },
  })
  return {
    input,
    output: Object.assign(output, { isTTY: true, columns: 100, rows: 40 }),
    text: () => text,
    async at(wanted, ...keys) {
      await waitFor(
        `${JSON.stringify(wanted)} in ${JSON.stringify(text.slice(seen))}`,
        () => text.includes(wanted, seen),
        {
          everyMs: 1,
        },
      )
      seen = text.indexOf(wanted, seen) + wanted.length
      for (const key of keys) input.write(key)
    },
  }
}
