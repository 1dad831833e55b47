import type { Output } from '../terminal.js'

/** Writes an answer: for `--json` as one JSON document (indented for a person), else the text made for people. */
export function writeAnswer(output: Output, json: boolean, answer: unknown, text: () => string): Promise<void> {
  if (!json) return output.write(text())
  return output.write(`${JSON.stringify(answer, null, output.isTerminal ? 2 : 0)}\n`)
}
