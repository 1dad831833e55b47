import type { NewJoinToken } from '@holdfast/client'
import { useState } from 'preact/hooks'
import { SERVER } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content } from '../../parts/content.js'
import { CopyText } from '../../parts/copy.js'
import { ActionButton } from '../../parts/dialog.js'
import { EntryForm, textOf } from '../../parts/entry-form.js'
import { timeText } from '../../parts/time.js'
import { runnerWords } from '../../words/en-runners.js'
import { words } from '../../words/en.js'

/** Tokens that let a host in without comparing: made once, shown once. */
export function JoinTokens() {
  const answer = useAnswer('join-tokens', ['runners'], (signal) => api.listJoinTokens({}, { signal }))
  const [made, setMade] = useState<NewJoinToken | null>(null)

  return (
    <section class="tokens" aria-labelledby="tokens">
      <h2 id="tokens">{runnerWords.tokens}</h2>
      <p class="soft">{runnerWords.tokensText}</p>
      <EntryForm
        label={runnerWords.newToken}
        submit={runnerWords.make}
        isCleared
        receipt={null}
        send={async (data) => {
          const name = textOf(data, 'name')
          const body = { ttl_minutes: Number(textOf(data, 'minutes')), ...(name === '' ? {} : { name }) }
          setMade(await api.createJoinToken({ body }))
          answer.reload()
        }}
      >
        <label>
          {runnerWords.tokenName}
          <input name="name" type="text" maxLength={100} />
        </label>
        <label>
          {runnerWords.tokenMinutes}
          <input name="minutes" type="number" min={1} defaultValue="30" required />
        </label>
      </EntryForm>
      {made && (
        <div class="notice info">
          <p>{runnerWords.tokenOnce}</p>
          <CopyText
            text={`APP_URL=${SERVER} RTE_JOIN_TOKEN=${made.token} holdfast-runner run`}
            label={runnerWords.newToken}
          />
        </div>
      )}
      <Content answer={answer}>
        {({ records }) => (
          <ul class="lines">
            {records.map(({ id, name, used_by: usedBy, used_at: usedAt, expires_at: expiresAt }) => (
              <li key={id}>
                <strong>{name ?? runnerWords.unnamed}</strong>{' '}
                <span class="soft">
                  {usedAt !== null
                    ? runnerWords.used(usedBy ?? words.none)
                    : Date.parse(expiresAt) < Date.now()
                      ? runnerWords.expired
                      : runnerWords.expires(timeText(expiresAt))}
                </span>{' '}
                <ActionButton
                  text={runnerWords.removeToken}
                  receipt={runnerWords.removeTokenDone}
                  act={async () => {
                    await api.removeJoinToken({ id })
                    answer.reload()
                  }}
                />
              </li>
            ))}
          </ul>
        )}
      </Content>
    </section>
  )
}
