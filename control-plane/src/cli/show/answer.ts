import { writeJson } from '@holdfast/client'
import { escapeControlsInJson } from '@holdfast/protocol'
import type { Output } from '../terminal.js'

/** Writes an answer: for `--json` as one JSON document (indented for a person), else the text made for people. */
export function writeAnswer(output: Output, json: boolean, answer: unknown, text: () => string): Promise<void> {
  if (!json) return output.write(text())
  if (!output.isTerminal) return output.write(`${writeJson(answer)}\n`)
  return output.write(`${escapeControlsInJson(writeJson(answer, 2))}\n`)
}
