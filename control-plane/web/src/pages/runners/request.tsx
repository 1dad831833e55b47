import type { Runner } from '@holdfast/client'
import { useId, useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { api } from '../../live/api.js'
import { ActionButton } from '../../parts/dialog.js'
import { Time } from '../../parts/time.js'
import { runnerWords } from '../../words/en-runners.js'
import { inGroups, isSameFingerprint } from './fingerprint.js'
import { Marks } from './runner-state.js'

/**
 * A host that asks to run playbooks. It is approved only after somebody has compared its fingerprint: by pasting what
 * the host prints, or by reading both. Exactly the compared key is approved.
 */
export function Request({
  runner,
  all,
  done,
  gone = done,
}: {
  readonly runner: Runner
  /** Every runner and every request. */
  readonly all: readonly Runner[]
  readonly done: () => void
  /** Called instead of `done` when the request was denied. */
  readonly gone?: () => void
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
    <div class="card request">
      <h3>
        <a class="plain" href={addressOf(`/runners/${runner.id}`)}>
          {name}
        </a>
      </h3>
      <p class="soft">
        {runnerWords.from(runner.host, runner.ip)} · <Time at={runner.requested_at} />
      </p>
      <Marks runner={runner} all={all} />
      <p>
        {runnerWords.fingerprint}: <code class="fingerprint">{inGroups(fingerprint)}</code>
      </p>
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
      <Answer runner={runner} mayApprove={mayApprove} done={done} gone={gone} />
    </div>
  )
}

function Answer({
  runner: { id, name, fingerprint },
  mayApprove,
  done,
  gone,
}: {
  readonly runner: Runner
  readonly mayApprove: boolean
  readonly done: () => void
  readonly gone: () => void
}) {
  return (
    <div class="buttons">
      <ActionButton
        text={runnerWords.approve}
        tone="main"
        disabledBecause={mayApprove ? null : runnerWords.requestsText}
        receipt={runnerWords.approveDone(name)}
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
        receipt={runnerWords.denyDone(name)}
        act={async () => {
          await api.rejectRunner({ id })
          gone()
        }}
      />
    </div>
  )
}
