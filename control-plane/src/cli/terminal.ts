import type { WriteStream } from 'node:tty'

/** Where a command writes to: the terminal of a person, or a pipe or file for a program. */
export interface Output {
  readonly isTerminal: boolean
  /** True on a terminal, unless NO_COLOR is set or the terminal has no colours. */
  readonly color: boolean
  readonly columns: number
  /** Resolves when the reader has taken the bytes, also when it is slow. */
  write(data: string | Uint8Array): Promise<void>
}

/** What connects a command with the world: environment, input and outputs. */
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
      // Opened at the first use. A command that reads nothing must not keep the input open.
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

/** Writes one line of text. */
export function writeLine(output: Output, line: string): Promise<void> {
  return output.write(`${line}\n`)
}

/** Writes one line of text that nobody has to read. Nothing happens when the reader is gone. */
export function writeNotice(output: Output, line: string): Promise<void> {
  return writeLine(output, line).catch(() => undefined)
}
