// Leaves out of the pages the operations of the REST interface that no page asks for. The client knows all of them, and a
// browser would load each with the shape of its answer.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** An operation in the table of the client, as tsc prints it. */
const OPERATION = /^ {4}(\w+): \{(?: .*|\n(?: {8}.*\n)+? {4})\},\n/gm

/**
 * A plugin for esbuild. @param {string} sources folder with the sources of the pages
 * @returns {import('esbuild').Plugin}
 */
export function usedOperations(sources) {
  return {
    name: 'used-operations',
    setup({ onLoad }) {
      onLoad({ filter: /client[\\/]dist[\\/]interface\.gen\.js$/ }, ({ path }) => ({
        contents: withoutUnused(readFileSync(path, 'utf8'), namesIn(sources)),
      }))
    },
  }
}

/** The operations that the sources name: `api.getJob`. */
function namesIn(folder) {
  const texts = readdirSync(folder, { recursive: true })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
  if (texts.some((text) => /\bapi\[|[=:(] *api\b(?!\.)/.test(text))) {
    throw new Error('an operation is found only where it is named as api.getJob')
  }
  return new Set(texts.flatMap((text) => [...text.matchAll(/\bapi\.(?!js\b)(\w+)/g)].map(([, name]) => name)))
}

/** @throws Error when the table has another form, or does not have one of the names */
function withoutUnused(text, names) {
  const begin = text.indexOf('export const operations = {')
  const missing = new Set(names)
  const table = text.slice(begin).replace(OPERATION, (operation, name) => (missing.delete(name) ? operation : ''))
  if (begin === -1 || missing.size > 0) {
    throw new Error(`the client has no operation ${[...missing].join(', ')}, or its table changed its form`)
  }
  // A schema that nothing names any more may be left out, because making one has no effect.
  return text.slice(0, begin).replace(/\bv\.\w+\(/g, '/* @__PURE__ */ $&') + table
}
