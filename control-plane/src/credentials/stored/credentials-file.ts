import { readFile, stat } from 'node:fs/promises'
import { unlessMissing } from '@holdfast/host/system-errors'
import { Compile } from 'typebox/compile'
import type { Clock } from '../../time/clock.js'
import { messageOf } from '../../errors.js'
import { atMostEvery } from '../../time/at-most-every.js'
import { YamlProblem, problemWith, readYaml } from '../../texts/yaml-text.js'
import { CredentialInput, type OpenCredential, givenOptions, problemOfSecret } from './credential.js'

/** How often the file is looked at while somebody asks, in milliseconds. */
const LOOK_EVERY_MS = 1000

/**
 * Why an entry of credentials.yaml, or the whole file, is left out. It never quotes the file, which may contain a
 * secret.
 */
export interface CredentialFileProblem {
  readonly file: string
  readonly line: number | null
  readonly reason: string
}

/** The credentials of a file as it is now. */
export type CredentialFile = ReturnType<typeof createCredentialFile>

interface Loaded {
  readonly credentials: readonly OpenCredential[]
  readonly problems: readonly CredentialFileProblem[]
}

const entryOfFile = Compile(CredentialInput)
/** The fingerprint when there is no file. */
const NO_FILE = ''
const UNREAD = 'unread'

/**
 * Reads credentials.yaml if it exists, and again whenever it changes. Wrong entries are reported and left out. While
 * the whole file cannot be read, the last correct ones are used. When the file is gone, there are none.
 */
export function createCredentialFile(deps: {
  readonly path: string
  readonly clock: Clock
  readonly log: { warn(fields: object, text: string): void; info(fields: object, text: string): void }
}) {
  const { path, log } = deps
  let seen = NO_FILE
  let loaded: Loaded = { credentials: [], problems: [] }

  const look = atMostEvery(LOOK_EVERY_MS, deps.clock, async () => {
    try {
      const fingerprint = await fingerprintOf(path)
      if (fingerprint === seen) return
      const text = fingerprint === NO_FILE ? '' : await readFile(path, 'utf8')
      seen = fingerprint
      loaded = parseCredentialFile(path, text)
      for (const problem of loaded.problems) log.warn(problem, 'an entry of credentials.yaml was left out')
      log.info({ file: path, credentials: loaded.credentials.length }, 'credentials were read')
    } catch (error) {
      // A file that could not be read is read again, even if its fingerprint is the same later.
      if (!(error instanceof YamlProblem)) seen = UNREAD
      const problem = error instanceof YamlProblem ? { file: path, line: error.line, reason: error.reason } : null
      const found = problem ?? { file: path, line: null, reason: messageOf(error) }
      if (JSON.stringify(loaded.problems) === JSON.stringify([found])) return
      loaded = { credentials: loaded.credentials, problems: [found] }
      log.warn(found, 'the credentials were not changed: the file is wrong and the last good ones stay in force')
    }
  })

  return {
    async all(): Promise<readonly OpenCredential[]> {
      await look()
      return loaded.credentials
    },
    async problems(): Promise<readonly CredentialFileProblem[]> {
      await look()
      return loaded.problems
    },
  }
}

/** @throws YamlProblem when the file is no list of credentials */
function parseCredentialFile(file: string, text: string): Loaded {
  const yaml = readQuietly(text)
  const entries = entriesOf(yaml.value)
  if (!entries) throw new YamlProblem(1, 'must be a list of credentials, by itself or under the key credentials')
  const credentials: OpenCredential[] = []
  const problems: CredentialFileProblem[] = []
  const names = new Set<string>()
  entries.list.forEach((entry: unknown, index) => {
    const place = [...entries.path, index]
    const report = (reason: string, path: readonly (string | number)[] = place) =>
      problems.push({ file, line: yaml.lineOf(path), reason })
    const problem = problemWith(entryOfFile, entry)
    if (problem) return void report(problem.reason, [...place, ...problem.path])
    const { name, type = 'userpass', user, password, host, port, description, options } = entry as CredentialInput
    const problemOfKey = problemOfSecret(type, password, givenOptions(options ?? {}))
    if (problemOfKey) return void report(problemOfKey)
    if (names.has(name)) return void report(`there already is a credential named ${name}`)
    names.add(name)
    const texts = { user: user ?? null, host: host ?? null, description: description ?? '' }
    const more = { port: port ?? null, options: givenOptions(options ?? {}) }
    credentials.push({ id: null, name, type, password, ...more, ...texts })
  })
  return { credentials, problems }
}

/** The message of the YAML parser may quote the text, which contains secrets. So only the line number is reported. */
function readQuietly(text: string) {
  try {
    return readYaml(text)
  } catch (error) {
    if (!(error instanceof YamlProblem) || error.kind === 'limit') throw error
    throw new YamlProblem(error.line, 'is not valid YAML here; secrets are best put in quotes')
  }
}

function entriesOf(value: unknown): { list: unknown[]; path: string[] } | null {
  if (value === null || value === undefined) return { list: [], path: [] }
  if (Array.isArray(value)) return { list: value, path: [] }
  if (typeof value !== 'object' || !('credentials' in value)) return null
  const { credentials } = value
  if (credentials === null) return { list: [], path: [] }
  return Array.isArray(credentials) ? { list: credentials, path: ['credentials'] } : null
}

/** A text that changes whenever the file changes. */
async function fingerprintOf(path: string): Promise<string> {
  const found = await unlessMissing(stat(path), null)
  return found === null ? NO_FILE : `${found.ino} ${found.size} ${found.mtimeMs}`
}
