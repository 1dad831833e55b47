import type { Credentials } from '../../credentials/stored/credentials.js'
import { namesInList } from '../../credentials/job/needs.js'
import { RefusedValuesError } from '../../errors.js'
import type { JobSettings } from '../../forms/form.js'
import type { PlainObject } from '../../forms/values/plain.js'
import type { Queries } from '../../store/store.js'
import { type RunnerChoice, chooseRunner } from './runner-choice.js'

/** What the plan of a job takes from the database. It was read before. */
export interface JobFacts {
  /** The runner that a form or step names, or the default runner. */
  readonly runnerOf: (settings: Pick<JobSettings, 'runner'>) => RunnerChoice
  readonly hasCredential: (name: string) => boolean
}

/** What can name credentials of a job. */
export interface CredentialSources {
  /** The form and its steps or nodes. */
  readonly settings: readonly Pick<JobSettings, 'credentials' | 'ansibleCredentials' | 'vaultCredentials'>[]
  /** The extra variables, in each shape in which they can come. */
  readonly values: readonly PlainObject[]
  /** Names by variable, as fields have them or the client sent them. */
  readonly sent: readonly PlainObject[]
  /** Names of the fields whose values name credentials. */
  readonly fields: readonly string[]
}

/** The reserved extra variables that name credentials. */
const RESERVED = ['__credentials__', '__ansibleCredentials__', '__vaultCredentials__']

/** Reads the runners of a form and of its steps or nodes, each once. */
export async function readRunners(
  queries: Queries,
  settings: readonly Pick<JobSettings, 'runner'>[],
): Promise<JobFacts['runnerOf']> {
  const found = new Map<string | null, RunnerChoice>()
  for (const one of settings) {
    if (!found.has(one.runner)) found.set(one.runner, await chooseRunner(queries, one))
  }
  return ({ runner }) => known(found, runner, 'runner')
}

/** Most names of credentials that one job may ask for. Each is looked up. */
const MAX_CREDENTIALS = 1000

/**
 * Looks up every credential that a job may ask for, each once.
 * @throws RefusedValuesError when there are too many names
 */
export async function readCredentials(
  credentials: Pick<Credentials, 'has'>,
  sources: CredentialSources,
): Promise<JobFacts['hasCredential']> {
  const names = new Set(textsOf(sources).flatMap(namesInList))
  if (names.size > MAX_CREDENTIALS) {
    throw new RefusedValuesError('too_many_credentials', `A job may name ${MAX_CREDENTIALS} credentials`)
  }
  const found = new Map<string, boolean>()
  for (const name of names) found.set(name, await credentials.has(name))
  return (name) => known(found, name, 'credential')
}

/** A plan must not ask for what nobody has read. That would be a fault of this program. */
function known<Key, Fact>(found: ReadonlyMap<Key, Fact>, key: Key, what: string): Fact {
  const fact = found.get(key)
  if (fact === undefined) throw new Error(`the ${what} ${String(key)} of a job was not read before its plan`)
  return fact
}

/** All texts that can name a credential. Some of them may name none. */
function textsOf({ settings, values, sent, fields }: CredentialSources): string[] {
  const texts: string[] = []
  const reserved = values.flatMap((of) => RESERVED.map((name) => (Object.hasOwn(of, name) ? of[name] : undefined)))
  gatherTexts([settings.map(namesOf), reserved], texts)
  const keys = new Set([...fields, ...[...settings.map(({ credentials }) => credentials), ...reserved].flatMap(keysOf)])
  for (const of of sent) for (const key of keys) if (Object.hasOwn(of, key)) gatherTexts(of[key], texts)
  return texts
}

function namesOf({ credentials, ansibleCredentials, vaultCredentials }: CredentialSources['settings'][number]) {
  return [credentials, ansibleCredentials, vaultCredentials]
}

function keysOf(value: unknown): string[] {
  return typeof value === 'object' && value !== null ? Object.keys(value) : []
}

/** Collects the texts in a value, at any depth. Its depth was checked before. */
function gatherTexts(value: unknown, into: string[]): void {
  if (typeof value === 'string') into.push(value)
  if (typeof value !== 'object' || value === null) return
  for (const entry of Object.values(value)) gatherTexts(entry, into)
}
