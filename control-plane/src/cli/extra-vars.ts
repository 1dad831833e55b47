import { readFile } from 'node:fs/promises'
import { UsageError } from './errors.js'

/** Extra variables by name. */
export type ExtraVars = Record<string, unknown>

/**
 * Reads the extra variables that `-e` gives: `key=value` (always a text), `@file.json`, `@file.yml`, or an object in JSON
 * or YAML. A later one replaces an earlier one of the same name.
 * @throws UsageError
 */
export async function readExtraVars(given: readonly string[]): Promise<ExtraVars> {
  const variables: ExtraVars = {}
  for (const text of given) Object.assign(variables, await readOne(text))
  return variables
}

async function readOne(text: string): Promise<ExtraVars> {
  if (text.startsWith('@')) return readVariablesFile(text.slice(1), `-e ${text}`)
  if (text.trimStart().startsWith('{')) return variablesIn(text, `-e ${text}`)
  const equals = text.indexOf('=')
  if (equals < 1) {
    throw new UsageError(
      `-e ${JSON.stringify(text)}: give key=value, @file.json, @file.yml or an object in JSON or YAML.`,
    )
  }
  return { [text.slice(0, equals).trim()]: text.slice(equals + 1) }
}

/**
 * Reads variables from a file in JSON or YAML.
 * @param what how the file was given, for the error
 * @throws UsageError
 */
export async function readVariablesFile(path: string, what: string): Promise<ExtraVars> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${what}: cannot be read: ${(error as Error).message}`)
  }
  return variablesIn(text, what)
}

/** The service reads such texts of workflows and fields in the same way, and so does `ansible-playbook -e`. */
async function variablesIn(text: string, what: string): Promise<ExtraVars> {
  // Loaded only here, because it is larger than all the rest of the client.
  const { YamlProblem, readYaml } = await import('../texts/yaml-text.js')
  try {
    const { value } = readYaml(text, 'ansible')
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      throw new UsageError(`${what}: must hold an object of variables.`)
    }
    return { ...value }
  } catch (error) {
    if (!(error instanceof YamlProblem)) throw error
    // A number that cannot be kept, or a text over a limit, is good YAML.
    const isSyntax = error.kind === 'syntax'
    throw new UsageError(`${what}: ${isSyntax ? 'is neither JSON nor YAML: ' : ''}${error.message}`)
  }
}
