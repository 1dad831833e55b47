import type { Credential } from '@holdfast/client'
import { useId } from 'preact/hooks'
import { api } from '../../live/api.js'
import { EntryForm, textOf } from '../../parts/entry-form.js'
import { adminWords } from '../../words/en-admin.js'

const { credential: text } = adminWords

/** The fields of a credential. The secret of a stored one is not here: an empty field keeps it. */
export function CredentialForm({
  credential,
  done,
}: {
  /** Null: a new one. */
  readonly credential: Credential | null
  readonly done: () => void
}) {
  const hint = useId()
  const secretHint = (
    <p id={hint} class="soft">
      {credential ? text.keepHint : text.secretHint}
    </p>
  )
  return (
    <EntryForm
      label={credential ? text.changeTitle(credential.name) : text.add}
      submit={credential ? adminWords.save : adminWords.add}
      layout="stacked"
      isCleared
      receipt={credential ? adminWords.saved : text.added}
      send={async (data) => {
        const body = bodyOf(data)
        const secret = textOf(data, 'secret')
        const id = credential?.id ?? null
        if (id !== null) {
          await api.changeCredential({ id, body: { ...body, ...(secret ? { password: secret } : {}) } })
        } else await api.createCredential({ body: { ...body, password: secret } })
        done()
      }}
    >
      <label>
        {text.name}
        <input name="name" type="text" autocomplete="off" required maxLength={200} defaultValue={credential?.name} />
      </label>
      <label>
        {text.kind}
        <select name="type">
          {Object.entries(text.kinds).map(([kind, word]) => (
            <option key={kind} value={kind} selected={kind === (credential?.type ?? 'userpass')}>
              {word}
            </option>
          ))}
        </select>
      </label>
      <label>
        {text.user}
        <input name="user" type="text" autocomplete="off" defaultValue={credential?.user ?? ''} />
      </label>
      <label>
        {text.secret}
        <textarea
          class="secret"
          name="secret"
          rows={1}
          autocomplete="off"
          spellcheck={false}
          required={credential === null}
          aria-describedby={hint}
        />
      </label>
      {credential && secretHint}
      <label>
        {text.host}
        <input name="host" type="text" autocomplete="off" defaultValue={credential?.host ?? ''} />
      </label>
      <label>
        {text.port}
        <input name="port" type="number" min={1} max={65535} defaultValue={credential?.port?.toString() ?? ''} />
      </label>
      <label>
        {text.description}
        <input name="description" type="text" autocomplete="off" defaultValue={credential?.description ?? ''} />
      </label>
      {!credential && secretHint}
    </EntryForm>
  )
}

function bodyOf(data: FormData) {
  const orNull = (name: string) => textOf(data, name) || null
  const port = orNull('port')
  return {
    name: textOf(data, 'name'),
    type: textOf(data, 'type'),
    user: orNull('user'),
    host: orNull('host'),
    port: port === null ? null : Number(port),
    description: textOf(data, 'description'),
  }
}
