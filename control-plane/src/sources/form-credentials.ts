import type { OpenCredential } from '../credentials/stored/credential.js'
import type { Credentials } from '../credentials/stored/credentials.js'
import { messageOf } from '../errors.js'
import type { JqThread } from './jq-thread.js'
import { type Asker, type Question, SourceProblem } from './question.js'

type Call = Extract<Question, { kind: 'function' }>

/** The credentials that expressions of forms name. */
export interface FormCredentials {
  /**
   * Opens the first credential of `a,b` that exists. A name that came from a value must be one that the asker may use.
   * @returns with the one of the names that led to it
   * @throws SourceProblem
   */
  open(
    names: string,
    question: Call,
    asker: Pick<Asker, 'mayUse'>,
  ): Promise<{ readonly credential: OpenCredential; readonly asked: string }>
  /** The credential of this name; null: there is none. @throws SourceProblem */
  openOne(name: string): Promise<OpenCredential | null>
}

/** Makes the {@link FormCredentials}. */
export function createFormCredentials(
  credentials: Pick<Credentials, 'open' | 'list'>,
  jq: Pick<JqThread, 'run'>,
): FormCredentials {
  async function openOne(name: string): Promise<OpenCredential | null> {
    try {
      return await credentials.open(name)
    } catch (error) {
      throw new SourceProblem(`the credential '${name}' cannot be opened: ${messageOf(error)}`)
    }
  }

  /** The first name that a pattern fits. jq looks for it: a pattern cannot stop the service there. */
  async function fitting(pattern: string): Promise<string | null> {
    const names = (await credentials.list()).map(({ name }) => name)
    const filter = '.pattern as $pattern | [.names[] | select(test($pattern))]'
    const found = await jq.run({ names, pattern }, filter).catch(() => [])
    return Array.isArray(found) && typeof found[0] === 'string' ? found[0] : null
  }

  return {
    openOne,
    async open(text, question, asker) {
      for (const asked of credentialNamesIn(text)) {
        if (!isWritten(question, asked) && !asker.mayUse(asked)) {
          throw new SourceProblem(`your roles do not allow the credential '${asked}'`)
        }
        const found = await openOne(asked)
        if (found) return { credential: found, asked }
        const name = isPattern(question, asked) ? await fitting(asked) : null
        const fits = name === null ? null : await openOne(name)
        if (fits) return { credential: fits, asked: /[()]/.test(asked) ? fits.name : asked }
      }
      throw new SourceProblem(`there is no credential '${text}'`)
    },
  }
}

/** Whether the author of the form wrote this name into the expression, as a text of its own or inside of one. */
export function isWritten({ template }: Call, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const written = new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`)
  // A backslash stands twice in a text.
  return name !== '' && (written.test(template) || written.test(unescaped(template)))
}

/**
 * Whether the author gave this text as a pattern: it is the first or second argument of `fn.fnCredentials`, as it stands
 * there. A value that somebody typed is never a pattern.
 */
function isPattern({ template }: Call, text: string): boolean {
  // A dot alone is a part of many names.
  if (!/[\\^$*+?()[\]{}|]/.test(text)) return false
  const calls = template.matchAll(/\bfnCredentials\s*\(\s*(['"])(.*?)\1(?:\s*,\s*(['"])(.*?)\3)?\s*[,)]/gs)
  return [...calls].some((call) =>
    [call[2], call[4]].some((given) => given?.includes('$(') === false && unescaped(given) === text),
  )
}

function unescaped(text: string): string {
  return text.replaceAll('\\\\', '\\')
}

/**
 * All texts in a value that may be names of credentials, each once. One text may hold several, with commas between
 * them. What opens credentials, what refuses them and the key of the cache must find the same names, so all of them
 * use this function.
 */
export function credentialNamesIn(value: unknown): string[] {
  const names = textsIn(value).flatMap((text) => text.split(',').map((one) => one.trim()))
  return [...new Set(names)].filter((name) => name !== '')
}

/** All texts in a value, however deep. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
