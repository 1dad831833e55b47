import type { Runner } from '@holdfast/client'
import { api } from '../../live/api.js'
import { ActionButton } from '../../parts/dialog.js'
import { runnerWords } from '../../words/en-runners.js'

/** What an admin can do with a runner that is no request. @property gone called instead of `done` when it was removed */
export function RunnerButtons({
  runner,
  done,
  gone = done,
}: {
  readonly runner: Runner
  readonly done: () => void
  readonly gone?: () => void
}) {
  const { id, name, enabled } = runner
  if (runner.state !== 'approved') {
    return (
      <span class="buttons">
        {runner.state === 'revoked' && (
          <ActionButton
            text={runnerWords.reinstate}
            ask={{ title: runnerWords.reinstateTitle(name), text: runnerWords.reinstateText }}
            receipt={runnerWords.approveDone(name)}
            act={async () => {
              await api.reinstateRunner({ id })
              done()
            }}
          />
        )}
        <ActionButton
          text={runnerWords.remove}
          tone="danger"
          ask={{ title: runnerWords.removeTitle(name), text: runnerWords.removeText }}
          receipt={runnerWords.removeDone(name)}
          act={async () => {
            await api.deleteRunner({ id })
            gone()
          }}
        />
      </span>
    )
  }
  const change = async (body: { enabled?: boolean; is_default?: boolean }) => {
    await api.changeRunner({ id, body })
    done()
  }
  return (
    <span class="buttons">
      {runner.clone !== null && (
        <ActionButton
          text={runnerWords.accept}
          ask={{ title: runnerWords.acceptTitle(name), text: runnerWords.acceptText }}
          receipt={runnerWords.acceptDone}
          act={async () => {
            await api.acceptRunner({ id })
            done()
          }}
        />
      )}
      <ActionButton
        text={runner.is_default ? runnerWords.clearDefault : runnerWords.makeDefault}
        receipt={runner.is_default ? runnerWords.clearDefaultDone : runnerWords.makeDefaultDone(name)}
        act={() => change({ is_default: !runner.is_default })}
      />
      <ActionButton
        text={enabled ? runnerWords.stop : runnerWords.start}
        receipt={enabled ? runnerWords.stopDone(name) : runnerWords.startDone(name)}
        act={() => change({ enabled: !enabled })}
      />
      <ActionButton
        text={runnerWords.revoke}
        tone="danger"
        ask={{ title: runnerWords.revokeTitle(name), text: runnerWords.revokeText }}
        receipt={runnerWords.revokeDone(name)}
        act={async () => {
          await api.revokeRunner({ id })
          done()
        }}
      />
    </span>
  )
}
