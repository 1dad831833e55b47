import { readJson } from '@holdfast/client'
import { readFile } from 'node:fs/promises'
import { UsageError } from './errors.js'

/** Extra variables by name. */
export type ExtraVars = Record<string, unknown>

/**
 * Extra variables as `-e` gives them, later ones over earlier ones: `key=value` (always text), `@file.json`,
 * `@file.yml`, or an object in JSON.
 * @throws UsageError
 */
export async function readExtraVars(given: readonly string[]): Promise<ExtraVars> {
  const variables: ExtraVars = {}
  for (const text of given) Object.assign(variables, await readOne(text))
  return variables
}

async function readOne(text: string): Promise<ExtraVars> {
  if (text.startsWith('@')) return readVariablesFile(text.slice(1), `-e ${text}`)
  if (text.trimStart().startsWith('{')) return variablesOf(parseJson(text), `-e ${text}`)
  const equals = text.indexOf('=')
  if (equals < 1) {
    throw new UsageError(`-e ${JSON.stringify(text)}: give key=value, @file.json, @file.yml or an object in JSON.`)
  }
  return { [text.slice(0, equals).trim()]: text.slice(equals + 1) }
}

function parseJson(text: string): unknown {
  try {
    return readJson(text)
  } catch (error) {
    throw new UsageError(`-e ${text}: is not JSON: ${(error as Error).message}`)
  }
}

/**
 * Variables from a file in JSON or YAML.
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
  // Loaded only here: it is larger than all the rest of the client. A CommonJS package is whole in its default export only.
  const { default: yaml } = await import('yaml')
  try {
    // JSON is YAML too; the 1.1 rules make `yes` and `0644` what ansible-playbook -e @file would make of them.
    // Whole numbers come with all their digits. Who would change one is the service, and it refuses that by name.
    const value: unknown = yaml.parse(text, { version: '1.1', intAsBigInt: true })
    return variablesOf(withPlainNumbers(value), what)
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${what}: is neither JSON nor YAML: ${(error as Error).message}`)
  }
}

/** Whole numbers as numbers where JavaScript has them exactly. */
function withPlainNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (Array.isArray(value)) return value.map(withPlainNumbers)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withPlainNumbers(part)]))
}

function variablesOf(value: unknown, what: string): ExtraVars {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new UsageError(`${what}: must hold an object of variables.`)
  }
  return value as ExtraVars
}
