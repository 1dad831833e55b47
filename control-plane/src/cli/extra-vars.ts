import { readJson } from '@holdfast/client'
import { readFile } from 'node:fs/promises'
import { UsageError } from './errors.js'

/** Extra variables by name. */
export type ExtraVars = Record<string, unknown>

/**
 * Reads the extra variables that `-e` gives: `key=value` (always a text), `@file.json`, `@file.yml`, or an object in JSON.
 * A later one replaces an earlier one of the same name.
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
  // Loaded only here, because it is larger than all the rest of the client. `yaml` is a CommonJS package: only its default
  // export has everything.
  const { default: yaml } = await import('yaml')
  try {
    // JSON is YAML, too. The rules of YAML 1.1 read `yes` and `0644` as `ansible-playbook -e @file` does.
    // Whole numbers keep all their digits. The service refuses one that is too large for it, and names it.
    const value: unknown = yaml.parse(text, { version: '1.1', intAsBigInt: true })
    return variablesOf(withPlainNumbers(value), what)
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${what}: is neither JSON nor YAML: ${(error as Error).message}`)
  }
}

/** Turns whole numbers into plain numbers where JavaScript can hold them exactly. */
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
