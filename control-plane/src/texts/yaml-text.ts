import { setImmediate as letOthersRun } from 'node:timers/promises'
import type { TSchema } from 'typebox'
import type { Validator } from 'typebox/compile'
import { isNode } from 'yaml'
import { messageOf } from '../errors.js'
import { ansibleLines, makeAnsibleValues } from './ansible-values.js'
import { MAX_YAML_CHARACTERS, type YamlRules, composeYaml } from './yaml-document.js'
import { YamlProblem } from './yaml-problem.js'
import { checkYamlValues } from './yaml-values.js'

export { MAX_YAML_CHARACTERS, type YamlRules } from './yaml-document.js'
export { YamlProblem } from './yaml-problem.js'

/** For how long the reading of a file keeps the thread, in milliseconds. */
const TURN_MS = 10

/** The values of a YAML text, with the lines where they stand. */
export interface YamlText {
  readonly value: unknown
  /** The line of the value at a path, or of the nearest value around it, counted from 1. */
  lineOf(path: readonly (string | number)[]): number
}

/**
 * Reads one YAML document. Every YAML text of people and of files comes through here. Its characters, words, levels,
 * aliases and values are counted before anything is made from it (`yaml-document.ts`, `yaml-values.ts`).
 * @param rules `ansible` for every text whose values a playbook gets
 * @throws YamlProblem, and nothing else
 */
export function readYaml(text: string, rules: YamlRules = '1.2'): YamlText {
  const steps = stepsOf(text, rules)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/**
 * The same for files, which are read in the thread that serves requests. Others get their turn meanwhile.
 * @returns gives the result, or throws the YamlProblem
 */
export async function readYamlInTurns(text: string, rules: YamlRules = '1.2'): Promise<() => YamlText> {
  try {
    const steps = stepsOf(text, rules)
    for (let began = performance.now(); ;) {
      const { done, value } = steps.next()
      if (done) return () => value
      if (performance.now() - began < TURN_MS) continue
      await letOthersRun()
      began = performance.now()
    }
  } catch (problem) {
    return () => {
      throw problem
    }
  }
}

function* stepsOf(text: string, given: YamlRules): Generator<void, YamlText> {
  try {
    const rules = given === 'ansible' && isJson(text) ? '1.2' : given
    const composed = yield* composeYaml(rules === 'ansible' ? ansibleLines(text) : text, rules)
    yield
    checkYamlValues(composed)
    yield
    if (rules === 'ansible') makeAnsibleValues(composed, text)
    const { document, lineAt } = composed
    return {
      // The values have been counted with their aliases, so the library has nothing left to count.
      value: document.toJS({ maxAliasCount: -1 }) as unknown,
      lineOf(path) {
        for (let length = path.length; length >= 0; length -= 1) {
          const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true)
          if (isNode(node) && node.range) return lineAt(node.range[0])
        }
        return 1
      },
    }
  } catch (problem) {
    if (problem instanceof YamlProblem) throw problem
    throw new YamlProblem(1, messageOf(problem).slice(0, 500))
  }
}

/** Ansible reads a text as JSON first. The rules of 1.2 give the values of JSON: `1e3` is a number. */
function isJson(text: string): boolean {
  if (text.length > MAX_YAML_CHARACTERS || !/^[\s]*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Where and how a value does not fit a schema; null when it fits. */
export function problemWith(
  validator: Validator<Record<never, never>, TSchema>,
  value: unknown,
): { readonly path: readonly string[]; readonly reason: string } | null {
  if (validator.Check(value)) return null
  const errors = validator.Errors(value)
  const place = errors[0]?.instancePath ?? ''
  const messages = errors
    .filter((error) => error.instancePath === place && error.keyword !== 'anyOf')
    .map((error) => error.message)
  const path = place
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const where = path.length === 0 ? '' : `${path.join('.')} `
  return { path, reason: where + [...new Set(messages)].join(' or ') }
}
