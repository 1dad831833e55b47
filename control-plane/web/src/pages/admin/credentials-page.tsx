import type { Credential } from '@holdfast/client'
import { useState } from 'preact/hooks'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty, PageTitle } from '../../parts/content.js'
import { ActionButton, Dialog } from '../../parts/dialog.js'
import { DialogButton } from '../../parts/dialog-button.js'
import { Table } from '../../parts/table.js'
import { adminWords } from '../../words/en-admin.js'
import { words } from '../../words/en.js'
import { CredentialForm } from './credential-form.js'

const { credential: text } = adminWords

/** The credentials. An admin can enter a secret, but nobody can read it again. */
export function CredentialsPage() {
  const answer = useAnswer('credentials', [], (signal) => api.listCredentials({}, { signal }))
  const [changed, setChanged] = useState<Credential | null>(null)
  return (
    <>
      <PageTitle text={words.nav.credentials}>
        <DialogButton text={text.add}>
          {(close) => (
            <CredentialForm
              credential={null}
              done={() => {
                close()
                answer.reload()
              }}
            />
          )}
        </DialogButton>
      </PageTitle>
      <Content answer={answer}>
        {({ records, errors }) => (
          <>
            {errors.length > 0 && (
              <div class="notice warn">
                <p>{text.leftOut}</p>
                <ul>
                  {errors.map(({ file, line, reason }) => (
                    <li key={`${file} ${line} ${reason}`}>
                      {file}
                      {line !== null && `:${line}`}: {reason}
                    </li>
                  ))}
                </ul>
              </div>
            )}
            {records.length === 0 ? (
              <Empty text={text.empty} />
            ) : (
              <Table caption={words.nav.credentials} columns={[...Object.values(text.columns), adminWords.actions]}>
                {records.map((credential) => (
                  <CredentialRow
                    key={`${credential.source} ${credential.name}`}
                    credential={credential}
                    change={() => setChanged(credential)}
                    done={answer.reload}
                  />
                ))}
              </Table>
            )}
          </>
        )}
      </Content>
      {changed && (
        <Dialog title={text.changeTitle(changed.name)} onClose={() => setChanged(null)}>
          <CredentialForm
            credential={changed}
            done={() => {
              setChanged(null)
              answer.reload()
            }}
          />
          <button type="button" onClick={() => setChanged(null)}>
            {words.cancel}
          </button>
        </Dialog>
      )}
    </>
  )
}

function CredentialRow({
  credential,
  change,
  done,
}: {
  readonly credential: Credential
  readonly change: () => void
  readonly done: () => void
}) {
  const { id, name, type, user, host, port, description, source, overridden } = credential
  return (
    <tr>
      <td>
        <strong>{name}</strong>
      </td>
      <td>{text.kinds[type] ?? type}</td>
      <td>{user ?? words.none}</td>
      <td>
        {host ?? words.none}
        {port !== null && `:${port}`}
      </td>
      <td>{description || words.none}</td>
      <td>
        {source === 'file' ? text.inFile : text.stored}
        {overridden && <span class="soft reason">{text.overridden}</span>}
      </td>
      <td>
        {id !== null && (
          <span class="buttons">
            <button type="button" onClick={change}>
              {text.change}
            </button>
            <ActionButton
              text={text.remove}
              tone="danger"
              ask={{ title: text.removeTitle(name), text: text.removeText }}
              receipt={text.removeDone(name)}
              act={async () => {
                await api.deleteCredential({ id })
                done()
              }}
            />
          </span>
        )}
      </td>
    </tr>
  )
}
