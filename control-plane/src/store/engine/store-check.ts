import { UnavailableError } from '../../errors.js'
import type { GroupCommit } from './group-commit.js'
import { schemaState } from '../migrations/index.js'
import type { Queries, RawStore } from '../store.js'

/**
 * Makes the check whether the database works, for {@link RawStore.check}.
 * @param probe a write that changes nothing and shows whether writing is possible
 */
export function createStoreCheck(
  read: Queries,
  commits: GroupCommit<Queries>,
  probe: (queries: Queries) => Promise<unknown>,
): RawStore['check'] {
  let probing = false
  const probeSoon = () => {
    if (probing) return
    probing = true
    commits
      .write('store.probe', probe)
      .catch(() => undefined)
      .finally(() => {
        probing = false
      })
  }
  return async () => {
    const state = await schemaState(read).catch((error: unknown) => {
      throw new UnavailableError('database_unreachable', 'database unreachable', undefined, { cause: error })
    })
    if (state === 'not provisioned') throw new UnavailableError('schema_not_provisioned', 'schema not provisioned')
    if (state === 'not upgraded') throw new UnavailableError('schema_not_upgraded', 'schema not upgraded')
    const { trouble } = commits
    if (trouble === null) return
    // Without a further try, nobody would find out that writing works again, because nobody else may write.
    probeSoon()
    throw new UnavailableError('database_not_writable', `the database cannot be written now: ${trouble}`)
  }
}
