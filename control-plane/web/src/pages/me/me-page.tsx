import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { noteOver, session } from '../../live/session.js'
import { whenSignedIn } from '../../live/signed-in.js'
import { Content, PageTitle } from '../../parts/content.js'
import { ActionButton } from '../../parts/dialog.js'
import { EntryForm, textOf } from '../../parts/entry-form.js'
import { Badge } from '../../parts/status.js'
import { Time } from '../../parts/time.js'
import { meWords } from '../../words/en-me.js'
import { words } from '../../words/en.js'
import { ApiTokens } from './api-tokens.js'
import { BrowserChoices } from './browser-choices.js'

/** Who is signed in, their password, and where else they are signed in. */
export function MePage() {
  const state = session.value
  // It stays under the sign-in when the session is over.
  if (!('user' in state)) return null
  const { user } = state
  return (
    <>
      <PageTitle text={meWords.title} />
      <dl class="facts">
        <div>
          <dt>{words.signIn.username}</dt>
          <dd>{user.username}</dd>
        </div>
        <div>
          <dt>{meWords.kind}</dt>
          <dd>{user.type}</dd>
        </div>
        <div>
          <dt>{meWords.roles}</dt>
          <dd>
            {user.roles.join(', ') || words.none}
            {user.rolesWithheld && <p class="soft">{meWords.withheld(user.rolesWithheld.join(', '))}</p>}
          </dd>
        </div>
        <div>
          <dt>{meWords.groups}</dt>
          <dd>
            {user.groups.join(', ') || words.none}
            {user.groupsLeftOut && <p class="soft">{meWords.groupsLeftOut(user.groupsLeftOut)}</p>}
          </dd>
        </div>
      </dl>
      {user.passwordMustChange && <p class="notice warn">{words.signIn.mustChange}</p>}
      <BrowserChoices />
      {user.type === 'local' && <Password />}
      {!user.passwordMustChange && <Sessions />}
      {!user.passwordMustChange && <ApiTokens mayMake={user.options.allowApiTokens === true} />}
    </>
  )
}

function Password() {
  return (
    <section aria-labelledby="password">
      <h2 id="password">{meWords.password}</h2>
      <EntryForm
        label={meWords.password}
        submit={meWords.change}
        receipt={meWords.changed}
        send={async (data) => {
          const body = { currentPassword: textOf(data, 'current'), password: textOf(data, 'next') }
          await api.changePassword({ body })
          noteOver()
        }}
      >
        <label>
          {meWords.current}
          <input name="current" type="password" autocomplete="current-password" required />
        </label>
        <label>
          {meWords.next}
          <input name="next" type="password" autocomplete="new-password" required minLength={12} />
        </label>
      </EntryForm>
    </section>
  )
}

function Sessions() {
  const answer = useAnswer('sessions', [], (signal) => api.listOwnSessions({}, { signal }))
  const others = answer.value?.records.filter(({ current }) => !current) ?? []
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">{meWords.sessions}</h2>
      <Content answer={answer}>
        {({ records }) => (
          <ul class="lines">
            {records.map((record) => (
              <li key={record.id}>
                <span>
                  {meWords.network} {record.network ?? words.none} · {meWords.since} <Time at={record.created_at} />
                  {record.last_used_at !== null && (
                    <>
                      {' '}
                      · {meWords.lastUsed} <Time at={record.last_used_at} />
                    </>
                  )}
                </span>
                {record.current ? (
                  <Badge tone="ok" text={meWords.this} />
                ) : (
                  <ActionButton
                    text={meWords.end}
                    ask={{ title: meWords.endTitle, text: meWords.endText }}
                    receipt={meWords.endDone}
                    act={async () => {
                      await api.endOwnSession({ id: record.id })
                      answer.reload()
                    }}
                  />
                )}
              </li>
            ))}
          </ul>
        )}
      </Content>
      {others.length > 1 && (
        <ActionButton
          text={meWords.endOthers}
          tone="danger"
          ask={{ title: meWords.endOthersTitle, text: meWords.endText }}
          receipt={meWords.endOthersDone}
          act={async () => {
            for (const { id } of others) await whenSignedIn(() => api.endOwnSession({ id }))
            answer.reload()
          }}
        />
      )}
    </section>
  )
}
