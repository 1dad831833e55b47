import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** A script with this name in it works with times. */
export const TIME_FUNCTION = 'fnTime'

let library: string | null = null

/** The library behind `fn.fnTime`. Scripts get it when the first of them names it. It reaches nothing but `Date`. */
export function timePrelude(): string {
  library ??= readFileSync(createRequire(import.meta.url).resolve('dayjs/dayjs.min.js'), 'utf8')
  return `(function(){${library}\n}).call(globalThis)`
}
