import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { InterruptedError, UsageError } from './errors.js'
import type { Terminal } from './terminal.js'

/**
 * Asks the person at the terminal for one line. @param hidden true: what the person types is not shown
 * @throws InterruptedError at Ctrl-C; UsageError when the input ends
 */
export async function ask(terminal: Terminal, question: string, hidden: boolean): Promise<string> {
  const echo = new Writable({
    write(chunk, _encoding, done) {
      if (hidden) done()
      else terminal.stderr.write(chunk as Buffer).then(() => done(), done)
    },
  })
  const lines = createInterface({ input: terminal.stdin, output: echo, terminal: true, historySize: 0 })
  const answer = new Promise<string>((resolve, reject) => {
    lines.once('line', resolve)
    lines.once('SIGINT', () => reject(new InterruptedError('Stopped; nothing was changed.')))
    lines.once('close', () => reject(new UsageError('The input ended before an answer was given.')))
  })
  try {
    // The question comes after `createInterface`, which turns off the echo. It goes to stderr, because stdout is for results.
    const [line] = await Promise.all([answer, terminal.stderr.write(question)])
    return line
  } finally {
    lines.close()
    if (hidden) await terminal.stderr.write('\n')
  }
}

/** Reads a secret from standard input: everything but the last line break. */
export async function readPipedSecret(terminal: Terminal): Promise<string> {
  return (await text(terminal.stdin)).replace(/\r?\n$/, '')
}
