/** Keys that need no quotes. Words such as `yes` mean something else in YAML. */
const PLAIN_KEY = /^(?!(?:yes|off|true|false|null)$)[a-z_]\w{2,99}$/i
/** Longer keys may not stand before a colon in one line. */
const MAX_INLINE_KEY = 1000
/** Characters that JSON allows, but which YAML reads as line ends, or does not allow. */
const TO_ESCAPE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g

/** A value of JSON as YAML, in blocks. Texts are in the quotes of JSON, which YAML reads in the same way. */
export function yamlText(value: unknown): string {
  return `${blockOf(value, '').trimStart()}\n`
}

/** What stands after `key:` or `-`. @param indent of the lines below it */
function blockOf(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null) return ` ${scalarOf(value)}`
  const lines = Array.isArray(value)
    ? value.map((one) => `-${blockOf(one, `${indent}  `)}`)
    : Object.entries(value).map(([key, one]) => `${keyOf(key, indent)}:${blockOf(one, `${indent}  `)}`)
  if (lines.length === 0) return Array.isArray(value) ? ' []' : ' {}'
  return lines.map((line) => `\n${indent}${line}`).join('')
}

function keyOf(key: string, indent: string): string {
  if (PLAIN_KEY.test(key)) return key
  const quoted = quotedText(key)
  return quoted.length > MAX_INLINE_KEY ? `? ${quoted}\n${indent}` : quoted
}

function scalarOf(value: unknown): string {
  // Ansible reads `1e+21` as a text, because it looks for a point.
  return typeof value === 'string' ? quotedText(value) : String(value).replace(/^(-?\d+)e/, '$1.0e')
}

function quotedText(text: string): string {
  return JSON.stringify(text).replace(TO_ESCAPE, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
