import { isDeepStrictEqual } from 'node:util'
import { isMap, isNode, isScalar, stringify } from 'yaml'
import { readYaml } from './yaml-text.js'
import { type YamlDocument, composeYaml } from './yaml-document.js'

/** A YAML text that is cut into files. */
export interface YamlParts {
  readonly value: unknown
  /** The text of the value at a path, with its comments. */
  textOf(path: readonly (string | number)[]): string
  /** The text of some properties of the whole. */
  textOfProperties(names: readonly string[]): string
}

/**
 * Reads a text to cut it into files. Each part keeps its own words and comments. Only a part that means something else
 * alone, such as one with an alias of another part, is written anew.
 * @throws YamlProblem
 */
export function readYamlParts(text: string): YamlParts {
  const { value } = readYaml(text)
  const { document } = composed(text)
  const cut = (from: number, to: number): string => {
    const indent = from - (text.lastIndexOf('\n', from - 1) + 1)
    const deeper = new RegExp(`^ {0,${indent}}`, 'gm')
    return `${text.slice(from, to).replace(deeper, '').trimEnd()}\n`
  }
  return {
    value,
    textOf(path) {
      const node = document.getIn(path, true)
      const whole = valueAt(value, path)
      if (!isNode(node) || !node.range) return written(whole)
      const comment = node.commentBefore ? `${node.commentBefore.replace(/^/gm, '#')}\n` : ''
      const part = comment + cut(node.range[0], node.range[2])
      return means(part, whole) ? part : written(whole)
    },
    textOfProperties(names) {
      const whole = Object.fromEntries(names.map((name) => [name, valueAt(value, [name])]))
      const pairs = isMap(document.contents) ? document.contents.items : []
      const parts = pairs.flatMap(({ key, value: node }) => {
        if (!isScalar(key) || !names.includes(String(key.value)) || !key.range) return []
        return [cut(key.range[0], isNode(node) && node.range ? node.range[2] : key.range[2])]
      })
      const part = parts.join('\n')
      return means(part, whole) ? part : written(whole)
    },
  }
}

function composed(text: string): YamlDocument {
  const steps = composeYaml(text, '1.2')
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

function means(text: string, value: unknown): boolean {
  try {
    return isDeepStrictEqual(readYaml(text).value, value)
  } catch {
    return false
  }
}

/** Words that YAML 1.1 reads differently get quotes. */
function written(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' })
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let part = value
  for (const key of path) part = (part as Readonly<Record<string | number, unknown>>)[key]
  return part
}
