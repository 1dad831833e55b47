import { isExactNumeral } from '@holdfast/protocol'
import { type Node, type Scalar, isAlias, isCollection, isNode, isPair, isScalar } from 'yaml'
import { MAX_LEVELS, MAX_VALUES } from './value-levels.js'
import type { YamlDocument } from './yaml-document.js'
import { YamlProblem } from './yaml-problem.js'

/** Most characters of all texts, each counted as often as an alias repeats it. */
const MAX_CHARACTERS = 8 * 1024 * 1024

/** How much a node is when each alias in it has become what it stands for. */
interface Size {
  readonly levels: number
  readonly values: number
  readonly characters: number
}

const NOTHING: Size = { levels: 0, values: 1, characters: 0 }

/**
 * Refuses a document whose values cannot be used: an alias that stands for a value around itself, aliases that make far
 * too many or too deep values, a name that stands twice in one mapping, a number that JavaScript would change. It counts
 * before the library makes any value. A recursion is safe here, because the levels of the text have been counted before.
 * @throws YamlProblem
 */
export function checkYamlValues({ document, lineAt }: YamlDocument): void {
  /** The size of the node at each anchor; null while the node is still open. */
  const anchors = new Map<string, Size | null>()

  function sizeOf(node: unknown): Size {
    if (isPair(node)) return sum([sizeOf(node.key), sizeOf(node.value)], node.key)
    if (!isNode(node)) return NOTHING
    if (isAlias(node)) {
      // The library reports an alias without an anchor when it makes the values.
      const size = anchors.get(node.source)
      if (size === null) refuse(node, `the alias *${shown(node.source)} stands for a value around itself`)
      return size ?? NOTHING
    }
    if (node.anchor !== undefined) anchors.set(node.anchor, null)
    const size = isScalar(node) ? sizeOfScalar(node) : isCollection(node) ? sizeOfCollection(node) : NOTHING
    if (node.anchor !== undefined) anchors.set(node.anchor, size)
    return size
  }

  function sizeOfScalar(node: Scalar): Size {
    if (isInexact(node)) {
      const source = (node.source ?? String(node.value)).slice(0, 60)
      const reason = `the number ${source} cannot be kept digit by digit: put it in quotes`
      throw new YamlProblem(lineOf(node), reason, 'number')
    }
    return { ...NOTHING, characters: node.source?.length ?? 0 }
  }

  function sizeOfCollection(node: Node & { readonly items: readonly unknown[] }): Size {
    const names = new Set<unknown>()
    for (const item of node.items) {
      if (!isPair(item) || !isScalar(item.key)) continue
      if (names.has(item.key.value)) throw new YamlProblem(lineOf(item.key), 'Map keys must be unique')
      names.add(item.key.value)
    }
    const inner = sum(node.items.map(sizeOf), node)
    const levels = inner.levels + 1
    if (levels > MAX_LEVELS) refuse(node, `values are nested deeper than ${MAX_LEVELS} levels`)
    return { ...inner, levels, values: inner.values + 1 }
  }

  function sum(sizes: readonly Size[], node: unknown): Size {
    let [levels, values, characters] = [0, 0, 0]
    for (const size of sizes) {
      levels = Math.max(levels, size.levels)
      values += size.values
      characters += size.characters
    }
    if (values > MAX_VALUES) refuse(node, `there are more than ${MAX_VALUES} values and names`)
    if (characters > MAX_CHARACTERS) refuse(node, 'its aliases make far more text than there is')
    return { levels, values, characters }
  }

  const lineOf = (node: unknown) => (isNode(node) ? lineAt(node.range?.[0] ?? 0) : 1)
  const refuse = (node: unknown, reason: string): never => {
    throw new YamlProblem(lineOf(node), reason, 'limit')
  }
  sizeOf(document.contents)
}

/** Whether JavaScript would change a number by reading it. */
function isInexact({ value, source }: Scalar): boolean {
  if (typeof value !== 'number') return false
  // As it stands in the file: 0x10, 1_000, +5 and .5 are numbers too.
  const text = source ?? String(value)
  // To ansible it is octal.
  if (/^[-+]?0\d+$/.test(text)) return !Number.isSafeInteger(value)
  if (/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) return !isExactNumeral(text.replace(/^\+/, ''))
  return Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value)
}

function shown(name: string): string {
  return name.slice(0, 60)
}
