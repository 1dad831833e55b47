import { useState } from 'preact/hooks'
import { told } from '../../live/action.js'
import { api } from '../../live/api.js'
import { CopyText } from '../../parts/copy.js'
import { Dialog } from '../../parts/dialog.js'
import { notificationWords as text } from '../../words/en-notifications.js'
import { TargetDialog } from './target-dialog.js'

/** A button that adds a webhook. A secret that was made for it is shown once. */
export function AddTarget({ done }: { readonly done: () => void }) {
  const [isAsking, setAsking] = useState(false)
  const [made, setMade] = useState<{ readonly name: string; readonly secret: string } | null>(null)
  const close = () => {
    setMade(null)
    setAsking(false)
    done()
  }
  return (
    <>
      <button type="button" class="main" onClick={() => setAsking(true)}>
        {text.add}
      </button>
      {isAsking && !made && (
        <TargetDialog
          title={text.add}
          target={null}
          submit={text.add}
          receipt={null}
          close={() => setAsking(false)}
          send={async ({ secret: entered, ...entries }) => {
            const body = entered === '' ? entries : { ...entries, secret: entered }
            const { name, secret } = await api.createNotificationTarget({ body })
            if (secret !== undefined) return setMade({ name, secret })
            told.value = { kind: 'done', text: text.added(name) }
            close()
          }}
        />
      )}
      {made && (
        <Dialog title={text.added(made.name)} mustAnswer onClose={close}>
          <p>{text.once}</p>
          <CopyText text={made.secret} label={text.secret} />
          <div class="buttons">
            <button type="button" class="main" onClick={close}>
              {text.close}
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
