import type { Clock } from '../../time/clock.js'
import { NotFoundError } from '../../errors.js'
import { type SessionRecord, deleteSession, listSessions } from '../../store/accounts/sessions.js'
import type { Store } from '../../store/store.js'
import type { Caller } from './caller.js'

/** Who is signed in where, for admins and for users about themselves. Ending a session ends its event streams, too. */
export type SessionRecords = ReturnType<typeof createSessionRecords>

/** Makes the list of sessions that users and admins see. */
export function createSessionRecords({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
  const among = async (records: readonly SessionRecord[], id: string): Promise<SessionRecord> => {
    const found = records.find((record) => record.id === id)
    const ended = found && (await store.write('sessions.end-one', (queries) => deleteSession(queries, id)))
    if (!found || !ended) throw new NotFoundError('no_such_session', 'There is no such session')
    return found
  }
  /** Sign-ins and API tokens of everybody, or of one user. The newest come first. */
  const list = (userId: number | null) => listSessions(store.read, { userId, kind: null }, clock.now())
  /** The caller's own sign-ins. */
  const listOwn = (by: Caller) => listSessions(store.read, { userId: by.id, kind: 'login' }, clock.now())
  return {
    list,
    listOwn,
    /** @throws NotFoundError */
    end: async (id: string): Promise<SessionRecord> => among(await list(null), id),
    /** @throws NotFoundError, also for a session of somebody else */
    endOwn: async (id: string, by: Caller): Promise<SessionRecord> => among(await listOwn(by), id),
  }
}
