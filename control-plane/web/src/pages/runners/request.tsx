import type { Runner } from '@holdfast/client'
import { useId, useState } from 'preact/hooks'
import { api } from '../../live/api.js'
import { ActionButton } from '../../parts/dialog.js'
import { Time } from '../../parts/time.js'
import { runnerWords } from '../../words/en-runners.js'
import { inGroups, isSameFingerprint } from './fingerprint.js'

/**
 * A host that asks to run playbooks. It is approved only after somebody has compared its fingerprint: by pasting what
 * the host prints, or by reading both. Exactly the compared key is approved.
 */
export function Request({
  runner,
  done,
  mayDecide,
}: {
  readonly runner: Runner
  readonly done: () => void
  readonly mayDecide: boolean
}) {
  const { name, fingerprint } = runner
  const [typed, setTyped] = useState('')
  const [isCompared, setCompared] = useState(false)
  // Another process may ask under this name meanwhile, with another key.
  const [compared, setComparedOne] = useState(fingerprint)
  const hint = useId()
  const isSame = isSameFingerprint(typed, fingerprint)
  const isChanged = compared !== fingerprint
  const mayApprove = !isChanged && (isSame || (isCompared && typed === ''))
  return (
    <li class="card request">
      <h3>{name}</h3>
      <p class="soft">
        {runnerWords.from(runner.host, runner.ip)} · <Time at={runner.requested_at} />
      </p>
      <p>
        {runnerWords.fingerprint}: <code class="fingerprint">{inGroups(fingerprint)}</code>
      </p>
      {mayDecide && (
        <>
          <label>
            {runnerWords.typed}
            <input
              class="mono"
              type="text"
              autocomplete="off"
              spellcheck={false}
              aria-describedby={hint}
              value={typed}
              onInput={(event) => {
                setTyped(event.currentTarget.value)
                setComparedOne(fingerprint)
              }}
            />
          </label>
          <p id={hint} class={isSame ? 'ok' : isChanged || typed !== '' ? 'bad-text' : 'soft'} role="status">
            {isChanged
              ? runnerWords.changed
              : typed === ''
                ? runnerWords.typedHint
                : isSame
                  ? runnerWords.same
                  : runnerWords.different}
          </p>
          <label class="check">
            <input
              type="checkbox"
              checked={isCompared}
              onChange={(event) => {
                setCompared(event.currentTarget.checked)
                setComparedOne(fingerprint)
              }}
            />
            {runnerWords.byEye}
          </label>
          <Answer runner={runner} mayApprove={mayApprove} done={done} />
        </>
      )}
    </li>
  )
}

function Answer({
  runner: { id, name, fingerprint },
  mayApprove,
  done,
}: {
  readonly runner: Runner
  readonly mayApprove: boolean
  readonly done: () => void
}) {
  return (
    <div class="buttons">
      <ActionButton
        text={runnerWords.approve}
        tone="main"
        disabledBecause={mayApprove ? null : runnerWords.requestsText}
        act={async () => {
          // The control plane refuses another one: a request may have taken the place of the one that was compared.
          await api.approveRunner({ id, body: { fingerprint } })
          done()
        }}
      />
      <ActionButton
        text={runnerWords.deny}
        tone="danger"
        ask={{ title: runnerWords.denyTitle(name), text: runnerWords.denyText }}
        act={async () => {
          await api.rejectRunner({ id })
          done()
        }}
      />
    </div>
  )
}
