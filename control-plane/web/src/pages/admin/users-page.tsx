import type { User } from '@holdfast/client'
import { useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty, PageTitle } from '../../parts/content.js'
import { DialogButton } from '../../parts/dialog-button.js'
import { EntryForm, listOf, textOf } from '../../parts/entry-form.js'
import { Badge } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { adminWords } from '../../words/en-admin.js'
import { words } from '../../words/en.js'

/** Rows that are shown at once; the search finds the others. */
const MAX_ROWS = 500
const { user: text } = adminWords

/** All accounts, and a dialog that adds a local one. */
export function UsersPage() {
  const answer = useAnswer('users', [], (signal) => api.listUsers({}, { signal }))
  const [search, setSearch] = useState('')
  return (
    <>
      <PageTitle text={words.nav.users}>
        <DialogButton text={text.add}>
          {(close) => (
            <NewUser
              done={() => {
                close()
                answer.reload()
              }}
            />
          )}
        </DialogButton>
      </PageTitle>
      <div class="filters" role="search">
        <label>
          <span class="hidden">{text.search}</span>
          <input
            type="search"
            placeholder={text.search}
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </label>
      </div>
      <Content answer={answer}>
        {({ records }) => {
          const found = records.filter((user) => isFound(user, search))
          return (
            <>
              {found.length === 0 ? <Empty text={text.empty} /> : <UserTable users={found.slice(0, MAX_ROWS)} />}
              {found.length > MAX_ROWS && <p class="soft">{adminWords.role.more(found.length - MAX_ROWS)}</p>}
            </>
          )
        }}
      </Content>
    </>
  )
}

function isFound({ username, email, groups, type }: User, search: string): boolean {
  const all = [username, email ?? '', type, ...groups].join(' ').toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word))
}

function UserTable({ users }: { readonly users: readonly User[] }) {
  return (
    <Table caption={text.caption} columns={Object.values(text.columns)}>
      {users.map((user) => (
        <tr key={user.id}>
          <td>
            <a href={addressOf(`/users/${user.id}`)}>{user.username}</a>
          </td>
          <td>{user.type}</td>
          <td>{user.groups.join(', ') || words.none}</td>
          <td>{user.email ?? words.none}</td>
          <td>
            <UserState user={user} />
          </td>
          <td class="number">
            <Time at={user.created} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

/** Whether a user may sign in, and what comes first. */
export function UserState({ user }: { readonly user: User }) {
  return (
    <>
      <Badge tone={user.enabled ? 'ok' : 'bad'} text={user.enabled ? text.active : text.blocked} />
      {user.password_must_change && <span class="soft reason">{text.mustChange}</span>}
    </>
  )
}

function NewUser({ done }: { readonly done: () => void }) {
  return (
    <EntryForm
      label={text.add}
      submit={adminWords.add}
      layout="stacked"
      receipt={text.added}
      send={async (data) => {
        await api.createUser({
          body: {
            username: textOf(data, 'username'),
            password: textOf(data, 'password'),
            groups: listOf(textOf(data, 'groups')),
            ...(textOf(data, 'email') === '' ? {} : { email: textOf(data, 'email') }),
            passwordMustChange: data.has('change'),
          },
        })
        done()
      }}
    >
      <label>
        {text.username}
        <input name="username" type="text" autocomplete="off" required />
      </label>
      <label>
        {text.password}
        <input
          name="password"
          type="password"
          autocomplete="new-password"
          required
          minLength={12}
          title={text.passwordHint}
        />
      </label>
      <label>
        {text.groups}
        <input name="groups" type="text" autocomplete="off" />
      </label>
      <label>
        {text.email}
        <input name="email" type="email" autocomplete="off" />
      </label>
      <label class="check">
        <input name="change" type="checkbox" defaultChecked />
        {text.atSignIn}
      </label>
    </EntryForm>
  )
}
