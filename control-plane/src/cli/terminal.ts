import type { WriteStream } from 'node:tty'

/** Where a command writes to: a person's terminal, or a pipe or file that a program reads. */
export interface Output {
  readonly isTerminal: boolean
  /** Whether colours are welcome: on a terminal, unless NO_COLOR is set. */
  readonly color: boolean
  readonly columns: number
  /** Resolves when the bytes are taken; waits for a slow reader. */
  write(data: string | Uint8Array): Promise<void>
}

/** What a command has to do with the world around it. */
export interface Terminal {
  readonly environment: NodeJS.ProcessEnv
  readonly stdin: NodeJS.ReadStream
  readonly stdout: Output
  readonly stderr: Output
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  return {
    environment: process.env,
    get stdin() {
      // Opened on first use: a command that reads nothing must not keep the terminal's input open.
      return process.stdin
    },
    stdout: outputOf(process.stdout),
    stderr: outputOf(process.stderr),
  }
}

function outputOf(stream: WriteStream): Output {
  // Node's types say that isTTY is always there; for a pipe it is not.
  const isTerminal = Boolean(stream.isTTY)
  return {
    isTerminal,
    color: isTerminal && !process.env.NO_COLOR && process.env.TERM !== 'dumb',
    get columns() {
      return stream.columns || 100
    },
    write: (data) =>
      new Promise((resolve, reject) => {
        stream.write(data, (error) => (error ? reject(error) : resolve()))
      }),
  }
}

/** A line of text. */
export function writeLine(output: Output, line: string): Promise<void> {
  return output.write(`${line}\n`)
}
