import { Scalar, type ScalarTag, visit } from 'yaml'
import { ANSIBLE_SCHEMA } from './ansible-schema.js'
import { composeYaml } from './yaml-document.js'
import { YamlProblem } from './yaml-problem.js'

/** Most differences of one text that are told. */
const MAX_DIFFERENCES = 100
const MAX_SHOWN = 60

/** A value without quotes that a file of this product and ansible read differently. */
export interface YamlDifference {
  readonly line: number
  readonly reason: string
}

/**
 * Finds the values of a text that have one meaning by YAML 1.2 and another one to ansible. Names are left out, because
 * they are those of the product. A text that is no YAML has none.
 */
export function differencesToAnsible(text: string): readonly YamlDifference[] {
  const differences: YamlDifference[] = []
  try {
    const steps = composeYaml(text, '1.2')
    let step = steps.next()
    while (!step.done) step = steps.next()
    const { document, lineAt } = step.value
    visit(document, {
      Scalar(key, { type, tag, value, source = '', range }) {
        if (differences.length === MAX_DIFFERENCES) return visit.BREAK
        if (key === 'key' || type !== Scalar.PLAIN || tag !== undefined) return undefined
        const toAnsible = ansibleValueOf(source)
        if (Object.is(toAnsible, value)) return undefined
        differences.push({ line: lineAt(range?.[0] ?? 0), reason: reasonOf(source, value, toAnsible) })
        return undefined
      },
    })
  } catch (problem) {
    if (!(problem instanceof YamlProblem)) throw problem
  }
  return differences
}

/** Undefined: ansible cannot read it. */
function ansibleValueOf(source: string): unknown {
  const tag = ANSIBLE_SCHEMA.tags.find(
    (one): one is ScalarTag => !('collection' in one && one.collection) && one.default === true && isMatch(one, source),
  )
  if (!tag) return source
  let isRefused = false
  const value = tag.resolve(source, () => (isRefused = true), {})
  return isRefused ? undefined : value
}

function isMatch(tag: { readonly test?: RegExp }, source: string): boolean {
  return tag.test?.test(source) ?? false
}

function reasonOf(source: string, here: unknown, toAnsible: unknown): string {
  const other = toAnsible === undefined ? 'ansible cannot read it' : `to ansible it is ${shown(toAnsible)}`
  const clear = typeof here === 'string' ? toAnsible : here
  const write = clear === undefined || typeof clear === 'string' ? '' : `, or write ${String(clear)}`
  return `${cut(source)} is ${shown(here)} in a form, and ${other}: put it in quotes${write}`
}

function shown(value: unknown): string {
  if (typeof value === 'string') return `the text ${JSON.stringify(cut(value))}`
  return typeof value === 'number' ? `the number ${value}` : String(value)
}

function cut(text: string): string {
  return text.slice(0, MAX_SHOWN)
}
