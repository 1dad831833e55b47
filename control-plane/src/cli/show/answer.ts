import { writeJson } from '@holdfast/client'
import { escapeControlsInJson } from '@holdfast/protocol'
import type { Output } from '../terminal.js'

/** Writes an answer. With `--json` it is one JSON document, indented on a terminal. Else it is the text for people. */
export function writeAnswer(output: Output, json: boolean, answer: unknown, text: () => string): Promise<void> {
  if (!json) return output.write(text())
  if (!output.isTerminal) return output.write(`${writeJson(answer)}\n`)
  return output.write(`${escapeControlsInJson(writeJson(answer, 2))}\n`)
}
