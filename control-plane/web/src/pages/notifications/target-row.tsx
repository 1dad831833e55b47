import type { NotificationTarget } from '@holdfast/client'
import { useState } from 'preact/hooks'
import { api } from '../../live/api.js'
import { ActionButton } from '../../parts/dialog.js'
import { Switch } from '../../parts/switch.js'
import { notificationWords as text } from '../../words/en-notifications.js'
import { TargetDialog } from './target-dialog.js'
import { expectArrived } from './test-result.js'

interface Props {
  readonly target: NotificationTarget
  readonly done: () => void
}

/** One webhook with its buttons. */
export function TargetRow({ target, done }: Props) {
  const { id, name, url, events } = target
  const [isChanging, setChanging] = useState(false)
  const close = () => setChanging(false)
  return (
    <tr>
      <td>
        <strong>{name}</strong>
      </td>
      <td class="mono wraps">{url}</td>
      <td>{events.map((event) => text.eventNames[event] ?? event).join(', ') || text.noEvents}</td>
      <td>
        <ActiveSwitch target={target} done={done} />
      </td>
      <td>
        <span class="buttons">
          <ActionButton
            text={text.test}
            receipt={null}
            act={async () => expectArrived(await api.testNotificationTarget({ id }).finally(done))}
          />
          <button type="button" onClick={() => setChanging(true)}>
            {text.change}
          </button>
          <ActionButton
            text={text.remove}
            tone="danger"
            ask={{ title: text.removeTitle(name), text: text.removeText }}
            receipt={text.removed(name)}
            act={async () => {
              await api.deleteNotificationTarget({ id })
              done()
            }}
          />
        </span>
        {isChanging && (
          <TargetDialog
            title={text.changeTitle(name)}
            target={target}
            submit={text.save}
            receipt={text.changed(name)}
            close={close}
            send={async ({ url: address, events: told, secret }) => {
              const body = { url: address, events: told, ...(secret === '' ? {} : { secret }) }
              await api.changeNotificationTarget({ id, body })
              close()
              done()
            }}
          />
        )}
      </td>
    </tr>
  )
}

function ActiveSwitch({ target: { id, name, enabled }, done }: Props) {
  return (
    <Switch
      label={text.active(name)}
      isOn={enabled}
      word={enabled ? text.isOn : text.isOff}
      receipt={enabled ? text.turnedOff(name) : text.turnedOn(name)}
      turn={async () => {
        await api.changeNotificationTarget({ id, body: { enabled: !enabled } })
        done()
      }}
    />
  )
}
