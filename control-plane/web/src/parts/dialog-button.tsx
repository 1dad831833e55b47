import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { words } from '../words/en.js'
import { Dialog } from './dialog.js'

/** The main button of a page. It opens a dialog of the same name, such as the fields of something new. */
export function DialogButton({
  text,
  children,
}: {
  readonly text: string
  readonly children: (close: () => void) => ComponentChildren
}) {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <button type="button" class="main" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {text}
      </button>
      {isOpen && (
        <Dialog title={text} onClose={close}>
          {children(close)}
          <button type="button" class="quiet" onClick={close}>
            {words.cancel}
          </button>
        </Dialog>
      )}
    </>
  )
}
