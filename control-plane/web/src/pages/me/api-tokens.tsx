import type { ApiToken, NewApiToken } from '@holdfast/client'
import { useState } from 'preact/hooks'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content } from '../../parts/content.js'
import { CopyText } from '../../parts/copy.js'
import { ActionButton } from '../../parts/dialog.js'
import { EntryForm, textOf } from '../../parts/entry-form.js'
import { Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { adminWords } from '../../words/en-admin.js'

const { token: text } = adminWords

/** The API tokens of who is signed in: made once, shown once. @property mayMake what the roles say */
export function ApiTokens({ mayMake }: { readonly mayMake: boolean }) {
  const answer = useAnswer('api-tokens', [], (signal) => api.listApiTokens({}, { signal }))
  const [made, setMade] = useState<NewApiToken | null>(null)
  return (
    <section aria-labelledby="api-tokens">
      <h2 id="api-tokens">{text.title}</h2>
      <p class="soft">{text.text}</p>
      <Content answer={answer}>
        {({ records }) =>
          records.length === 0 ? (
            <p>{text.none}</p>
          ) : (
            <Table caption={text.caption} columns={[...Object.values(text.columns), adminWords.actions]}>
              {records.map((token) => (
                <TokenRow
                  key={token.sid}
                  token={token}
                  done={() => {
                    if (made?.sid === token.sid) setMade(null)
                    answer.reload()
                  }}
                />
              ))}
            </Table>
          )
        }
      </Content>
      {mayMake && (
        <EntryForm
          label={text.make}
          submit={text.make}
          isCleared
          receipt={null}
          send={async (data) => {
            const [name, may] = [textOf(data, 'name'), textOf(data, 'may')]
            const scopes = may === '' ? {} : { scopes: [may] }
            const body = { ...(name === '' ? {} : { name }), expiryDays: Number(textOf(data, 'days')), ...scopes }
            setMade(await api.createApiToken({ body }))
            answer.reload()
          }}
        >
          <label>
            {text.name}
            <input name="name" type="text" autocomplete="off" maxLength={100} />
          </label>
          <label>
            {text.days}
            <input name="days" type="number" min={1} defaultValue="30" required />
          </label>
          <label>
            {text.may}
            <select name="may">
              <option value="">{text.all}</option>
              <option value="read">{text.read}</option>
              <option value="launch">{text.launch}</option>
            </select>
          </label>
        </EntryForm>
      )}
      {made && (
        <div class="notice info">
          <p>{text.once}</p>
          <CopyText text={made.token} label={text.title} />
        </div>
      )}
    </section>
  )
}

function TokenRow({ token, done }: { readonly token: ApiToken; readonly done: () => void }) {
  return (
    <tr>
      <td>{token.name ?? text.unnamed}</td>
      <td>{token.scopes?.join(', ') ?? text.all}</td>
      <td class="number">
        <Time at={token.created_at} />
      </td>
      <td class="number">
        <Time at={token.last_used_at} />
      </td>
      <td class="number">
        <Time at={token.expires_at} />
      </td>
      <td>
        <ActionButton
          text={text.revoke}
          ask={{ title: text.revokeTitle, text: text.revokeText }}
          receipt={text.revokeDone}
          act={async () => {
            await api.revokeApiToken({ sid: token.sid })
            done()
          }}
        />
      </td>
    </tr>
  )
}
