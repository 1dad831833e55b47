import type { User, UserSession } from '@holdfast/client'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { session } from '../../live/session.js'
import { whenSignedIn } from '../../live/signed-in.js'
import { Content } from '../../parts/content.js'
import { ActionButton } from '../../parts/dialog.js'
import { Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { adminWords } from '../../words/en-admin.js'
import { meWords } from '../../words/en-me.js'
import { words } from '../../words/en.js'

const { user: text } = adminWords

/** Where a user is signed in, and which API tokens they have. */
export function UserSessions({ user: { id, username } }: { readonly user: User }) {
  const answer = useAnswer(`sessions of ${id}`, [], (signal) => api.listSessions({ user_id: id }, { signal }))
  const { value } = session
  // The own account has no button that ends all sessions: the session of this page is among them, and without it the
  // others could not be ended.
  const isOwn = 'user' in value && value.user.id === id
  return (
    <section aria-labelledby="user-sessions">
      <h2 id="user-sessions">{text.sessions}</h2>
      <Content answer={answer}>
        {({ records }) =>
          records.length === 0 ? (
            <p class="soft">{text.noSessions}</p>
          ) : (
            <>
              <Table
                caption={text.sessionsCaption}
                columns={[...Object.values(text.sessionColumns), adminWords.actions]}
              >
                {records.map((record) => (
                  <SessionRow key={record.id} record={record} done={answer.reload} />
                ))}
              </Table>
              {!isOwn && (
                <ActionButton
                  text={text.endAll}
                  tone="danger"
                  ask={{ title: text.endAllTitle(username), text: meWords.endText }}
                  receipt={text.endAllDone(username)}
                  act={async () => {
                    try {
                      for (const record of records) await whenSignedIn(() => api.endSession({ id: record.id }))
                    } finally {
                      answer.reload()
                    }
                  }}
                />
              )}
            </>
          )
        }
      </Content>
    </section>
  )
}

function SessionRow({ record, done }: { readonly record: UserSession; readonly done: () => void }) {
  return (
    <tr>
      <td>{record.kind === 'api' ? text.token(record.name ?? '') : text.signIn}</td>
      <td class="number">
        <Time at={record.created_at} />
      </td>
      <td class="number">
        <Time at={record.last_used_at} />
      </td>
      <td class="number">
        <Time at={record.expires_at} />
      </td>
      <td>{record.network ?? words.none}</td>
      <td>
        <ActionButton
          text={meWords.end}
          ask={{ title: meWords.endTitle, text: meWords.endText }}
          receipt={meWords.endDone}
          act={async () => {
            await api.endSession({ id: record.id })
            done()
          }}
        />
      </td>
    </tr>
  )
}
