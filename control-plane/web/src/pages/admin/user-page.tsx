import type { User } from '@holdfast/client'
import { useLocation, useRoute } from 'preact-iso/router'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { session } from '../../live/session.js'
import { Content, PageTitle } from '../../parts/content.js'
import { ActionButton } from '../../parts/dialog.js'
import { EntryForm, listOf, textOf } from '../../parts/entry-form.js'
import { Fact } from '../../parts/fact.js'
import { Time } from '../../parts/time.js'
import { adminWords } from '../../words/en-admin.js'
import { words } from '../../words/en.js'
import { UserSessions } from './user-sessions.js'
import { UserState } from './users-page.js'

const { user: text } = adminWords

interface Part {
  readonly user: User
  readonly done: () => void
}

/** One account: its rights, its password, and its sessions. */
export function UserPage() {
  const id = Number(useRoute().params.id)
  const answer = useAnswer(`user ${id}`, [], (signal) => api.getUser({ id }, { signal }))
  return (
    <>
      <PageTitle text={answer.value?.username ?? words.nav.users} />
      <p>
        <a href={addressOf('/users')}>{text.back}</a>
      </p>
      <Content answer={answer}>
        {(user) => (
          <>
            <Facts user={user} />
            <Withheld user={user} done={answer.reload} />
            <Buttons user={user} done={answer.reload} />
            {user.type === 'local' ? (
              <>
                <Groups key={`${user.groups.join()} ${user.email}`} user={user} done={answer.reload} />
                <Password user={user} done={answer.reload} />
              </>
            ) : (
              <p class="soft">{text.foreign}</p>
            )}
            <UserSessions user={user} />
          </>
        )}
      </Content>
    </>
  )
}

function Facts({ user }: { readonly user: User }) {
  const facts = [
    [text.columns.kind, user.type],
    [text.columns.groups, user.groups.join(', ') || words.none],
    [text.columns.email, user.email ?? words.none],
    [text.columns.state, <UserState key="state" user={user} />],
    [text.columns.created, <Time key="created" at={user.created} />],
  ] as const
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <Fact key={name} name={name}>
          {value}
        </Fact>
      ))}
    </dl>
  )
}

/** Roles that name this user and mean a deleted account. Only an admin may say that they mean this one. */
function Withheld({ user: { id, username, roles_withheld: withheld = [] }, done }: Part) {
  if (withheld.length === 0) return null
  return (
    <div class="notice warn">
      <p>{text.withheld(withheld.join(', '))}</p>
      <ActionButton
        text={text.accept}
        ask={{ title: text.acceptTitle(username), text: withheld.join(', ') }}
        receipt={text.accepted}
        act={async () => {
          await api.acceptUserName({ id })
          done()
        }}
      />
    </div>
  )
}

function Buttons({ user: { id, username, enabled }, done }: Part) {
  const { route } = useLocation()
  const { value } = session
  // The control plane refuses both actions for the account of the caller.
  if ('user' in value && value.user.id === id) return null
  return (
    <p class="buttons">
      {enabled ? (
        <ActionButton
          text={text.block}
          tone="danger"
          ask={{ title: text.blockTitle(username), text: text.blockText }}
          receipt={text.blockDone(username)}
          act={async () => {
            await api.changeUser({ id, body: { enabled: false } })
            done()
          }}
        />
      ) : (
        <ActionButton
          text={text.unblock}
          receipt={text.unblockDone(username)}
          act={async () => {
            await api.changeUser({ id, body: { enabled: true } })
            done()
          }}
        />
      )}
      <ActionButton
        text={text.remove}
        tone="danger"
        ask={{ title: text.removeTitle(username), text: text.removeText }}
        receipt={text.removeDone(username)}
        act={async () => {
          await api.deleteUser({ id })
          route(addressOf('/users'))
        }}
      />
    </p>
  )
}

function Groups({ user: { id, groups, email }, done }: Part) {
  return (
    <section aria-labelledby="groups">
      <h2 id="groups">{text.change}</h2>
      <EntryForm
        label={text.change}
        submit={adminWords.save}
        receipt={adminWords.saved}
        send={async (data) => {
          const address = textOf(data, 'email')
          await api.changeUser({
            id,
            body: { groups: listOf(textOf(data, 'groups')), email: address === '' ? null : address },
          })
          done()
        }}
      >
        <label>
          {text.groups}
          <input name="groups" type="text" autocomplete="off" defaultValue={groups.join(', ')} />
        </label>
        <label>
          {text.email}
          <input name="email" type="email" autocomplete="off" defaultValue={email ?? ''} />
        </label>
      </EntryForm>
    </section>
  )
}

function Password({ user: { id }, done }: Part) {
  return (
    <section aria-labelledby="new-password">
      <h2 id="new-password">{text.newPassword}</h2>
      <EntryForm
        label={text.newPassword}
        submit={text.setPassword}
        receipt={text.passwordSet}
        isCleared
        send={async (data) => {
          await api.changeUser({
            id,
            body: { password: textOf(data, 'password'), passwordMustChange: data.has('change') },
          })
          done()
        }}
      >
        <label>
          {text.newPassword}
          <input
            name="password"
            type="password"
            autocomplete="new-password"
            required
            minLength={12}
            title={text.passwordHint}
          />
        </label>
        <label class="check">
          <input name="change" type="checkbox" defaultChecked />
          {text.atSignIn}
        </label>
      </EntryForm>
    </section>
  )
}
