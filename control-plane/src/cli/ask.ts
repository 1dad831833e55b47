import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { InterruptedError, UsageError } from './errors.js'
import type { Terminal } from './terminal.js'

/** Asks the person at the terminal for a line; with `hidden` what they type is not shown. */
export async function ask(terminal: Terminal, question: string, hidden: boolean): Promise<string> {
  const echo = new Writable({
    write(chunk, _encoding, done) {
      if (hidden) done()
      else terminal.stderr.write(chunk as Buffer).then(() => done(), done)
    },
  })
  const lines = createInterface({ input: terminal.stdin, output: echo, terminal: true, historySize: 0 })
  try {
    const answer = new Promise<string>((resolve, reject) => {
      lines.once('line', resolve)
      lines.once('SIGINT', () => reject(new InterruptedError('Stopped; nothing was changed.')))
      lines.once('close', () => reject(new UsageError('The input ended before an answer was given.')))
    })
    // Asked when the terminal no longer shows what is typed, nor takes Ctrl-C for itself. The question goes to stderr, so
    // that the output of a command stays clean.
    const [given] = await Promise.all([answer, terminal.stderr.write(question)])
    return given
  } finally {
    lines.close()
    if (hidden) await terminal.stderr.write('\n')
  }
}

/** Everything on standard input without the final line break: a secret that was piped in. */
export async function readPipedSecret(terminal: Terminal): Promise<string> {
  return (await text(terminal.stdin)).replace(/\r?\n$/, '')
}
