import { outputFilter } from './output-filter.js'
import type { Terminal } from '../terminal.js'
import { unreachable } from '../client/words.js'

/**
 * Prints the body of an answer as it comes: byte by byte, but without harmful escapes at a terminal.
 * @param server its address, for the message
 * @throws UnreachableError when the connection breaks before the body is complete
 */
export async function printBody(
  body: AsyncIterable<Uint8Array> | null,
  terminal: Terminal,
  server: string,
): Promise<void> {
  const { stdout } = terminal
  const filter = stdout.isTerminal ? outputFilter(stdout, stdout.color) : null
  const pieces = body?.[Symbol.asyncIterator]()
  for (;;) {
    // Only what fails in reading is the connection. What fails in writing is said by the terminal.
    const next = await pieces?.next().catch((error: unknown) => {
      throw unreachable(server, error)
    })
    if (!next || next.done) break
    await stdout.write(filter ? filter.push(next.value) : next.value)
  }
  const rest = filter?.end()
  if (rest) await stdout.write(rest)
}
