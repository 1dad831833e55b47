import type { OpenCredential } from '../credentials/stored/credential.js'
import type { Credentials } from '../credentials/stored/credentials.js'
import { messageOf } from '../errors.js'
import type { AskedName } from './credential-names.js'
import type { Jq } from './jq.js'
import { type Asker, SourceProblem, type Work } from './question.js'

/** The credentials that expressions of forms name. */
export type FormCredentials = ReturnType<typeof createFormCredentials>

/** Makes the {@link FormCredentials}. */
export function createFormCredentials(credentials: Pick<Credentials, 'open' | 'list'>, jq: Pick<Jq, 'run'>) {
  /** The credential of this name; null: there is none. @throws SourceProblem */
  async function openOne(name: string): Promise<OpenCredential | null> {
    try {
      return await credentials.open(name)
    } catch (error) {
      throw new SourceProblem(`the credential '${name}' cannot be opened: ${messageOf(error)}`)
    }
  }

  /** The first name that a pattern fits. jq looks for it: a pattern cannot stop the service there. */
  async function fitting(pattern: string, work: Work): Promise<string | null> {
    const names = (await credentials.list()).map(({ name }) => name)
    const filter = '.pattern as $pattern | [.names[] | select(test($pattern))]'
    const found = await jq.run({ names, pattern }, filter, work).catch(() => [])
    return Array.isArray(found) && typeof found[0] === 'string' ? found[0] : null
  }

  return {
    openOne,
    /**
     * Opens the first credential that exists. A name that came from a value must be one that the asker may use.
     * @param mayBePatterns names of the author that are regular expressions count for credentials that no name fits
     * exactly
     * @throws SourceProblem
     */
    async open(
      names: readonly AskedName[],
      asker: Pick<Asker, 'mayUse'> & Work,
      mayBePatterns = false,
    ): Promise<OpenCredential> {
      for (const { name, isWritten } of names) {
        if (!isWritten && !asker.mayUse(name)) {
          throw new SourceProblem(`your roles do not allow the credential '${name}'`)
        }
        const found = await openOne(name)
        if (found) return found
        const other = mayBePatterns && isWritten && isPattern(name) ? await fitting(name, asker) : null
        const fits = other === null ? null : await openOne(other)
        if (fits) return fits
      }
      throw new SourceProblem(`there is no credential '${names.map(({ name }) => name).join(',')}'`)
    },
  }
}

/** A dot alone is a part of many names. */
function isPattern(name: string): boolean {
  return /[\\^$*+?()[\]{}|]/.test(name)
}
