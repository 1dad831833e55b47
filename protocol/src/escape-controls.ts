/**
 * Characters that command a terminal (C1, DEL), break a line (U+2028, U+2029), or turn the direction of text so that it reads
 * as another text. JSON leaves all of them as they are.
 */
const UNSEEN = '\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069'
const IN_JSON = new RegExp(`[${UNSEEN}]`, 'g')
const IN_TEXT = new RegExp(`[\\u0000-\\u001f${UNSEEN}]`, 'g')
const RUNS_IN_TEXT = new RegExp(`[\\u0000-\\u001f${UNSEEN}]+`, 'g')

/** The same JSON without raw characters that command a terminal; it may be indented and may end with a line feed. */
export function escapeControlsInJson(json: string): string {
  return json.replace(IN_JSON, escapeOf)
}

/** A text as one line, with each such character, and each line end, written as `\uXXXX`. */
export function escapeControls(text: string): string {
  return text.replace(IN_TEXT, escapeOf)
}

/** A text as one line, with a blank for each run of such characters. */
export function blankControls(text: string): string {
  return text.replace(RUNS_IN_TEXT, ' ')
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
