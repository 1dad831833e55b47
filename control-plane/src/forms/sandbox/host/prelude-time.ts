import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** A script that contains this name works with times. */
export const TIME_FUNCTION = 'fnTime'

let library: string | null = null

/** The library behind `fn.fnTime`. Scripts get it as soon as one of them names it. It uses only `Date`. */
export function timePrelude(): string {
  library ??= readFileSync(createRequire(import.meta.url).resolve('dayjs/dayjs.min.js'), 'utf8')
  return `(function(){${library}\n}).call(globalThis)`
}
