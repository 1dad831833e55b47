import type { Role } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, PageTitle } from '../../parts/content.js'
import { Table } from '../../parts/table.js'
import { userName } from '../../parts/user-name.js'
import { adminWords } from '../../words/en-admin.js'
import { words } from '../../words/en.js'

const { role: text } = adminWords

/** The roles as config.yaml has them, with the accounts that have them now. */
export function RolesPage() {
  const answer = useAnswer('roles', [], (signal) => api.listRoles({}, { signal }))
  return (
    <>
      <PageTitle text={words.nav.roles} />
      <p class="soft">{text.text}</p>
      <Content answer={answer}>
        {({ records }) => (
          <Table caption={words.nav.roles} columns={Object.values(text.columns)}>
            {records.map((role) => (
              <RoleRow key={role.name} role={role} />
            ))}
          </Table>
        )}
      </Content>
    </>
  )
}

function RoleRow({ role }: { readonly role: Role }) {
  const options = Object.entries(role.options).map(([name, isOn]) => (isOn ? text.on(name) : text.off(name)))
  const limits = [
    role.runners && text.runners(role.runners.join(', ')),
    role.credentials && text.credentials(role.credentials.join(', ')),
    role.scopes && text.scopes(role.scopes.join(', ')),
  ].filter((limit) => limit !== null)
  const named = [...role.groups, ...role.users].join(', ')
  return (
    <tr>
      <td>
        <strong>{role.name}</strong>
      </td>
      <td>{role.everyone ? text.everyone : named || text.nobody}</td>
      <td>
        <Accounts role={role} />
      </td>
      <td>{role.name === 'admin' ? text.everything : options.join(', ')}</td>
      <td>{limits.join('; ') || adminWords.unlimited}</td>
    </tr>
  )
}

function Accounts({ role: { everyone, accounts, account_count: count } }: { readonly role: Role }) {
  if (everyone) return <>{text.everyone}</>
  if (count === 0) return <>{text.nobody}</>
  return (
    <>
      {accounts.map(({ id, username, type }, at) => (
        <span key={id}>
          {at > 0 && ', '}
          <a href={addressOf(`/users/${id}`)}>{userName(username, type)}</a>
        </span>
      ))}
      {count > accounts.length && ` ${text.more(count - accounts.length)}`}
    </>
  )
}
