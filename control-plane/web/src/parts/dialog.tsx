import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { useAction } from '../live/action.js'
import { words } from '../words/en.js'
import { Failure } from './failure.js'

/** A question over the page. Escape says no, unless `mustAnswer`. */
export function Dialog({
  title,
  onClose,
  mustAnswer = false,
  children,
}: {
  readonly title: string
  readonly onClose: () => void
  readonly mustAnswer?: boolean
  readonly children: ComponentChildren
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const shown = dialog.current
    const before = document.activeElement
    shown?.showModal()
    return () => {
      shown?.close()
      focusAgain(before)
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (!mustAnswer) onClose()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

/** Puts the focus where it was, or to the content of the page when that is gone. */
export function focusAgain(before: Element | null): void {
  setTimeout(() => {
    if (document.activeElement !== document.body) return
    const isThere = before instanceof HTMLElement && before.isConnected && before !== document.body
    const to = isThere ? before : document.getElementById('content')
    to?.focus()
  })
}

/** A button whose action takes a moment and may be refused. With `title` it asks first. */
export function ActionButton({
  text,
  act,
  receipt,
  explained,
  ask,
  tone = 'plain',
  disabledBecause = null,
}: {
  readonly text: string
  readonly act: () => Promise<void>
  /** What is said when it was done; null: the page shows it by itself. */
  readonly receipt: string | null
  /** Takes an error, and says whether the page shows it in another way. */
  readonly explained?: (error: Error) => boolean
  readonly ask?: { readonly title: string; readonly text: string }
  readonly tone?: 'plain' | 'main' | 'danger'
  /** Why nobody can press it now; null: they can. */
  readonly disabledBecause?: string | null
}) {
  const [isAsking, setAsking] = useState(false)
  const { isBusy, error, go: begin } = useAction()
  const id = useId()
  const go = () =>
    begin(
      async () => {
        await act()
        setAsking(false)
      },
      receipt,
      explained,
    )

  return (
    <>
      <button
        type="button"
        class={tone}
        // It can still get the focus, so that people who use the keyboard can read why it cannot be pressed.
        aria-disabled={disabledBecause !== null || isBusy}
        aria-describedby={disabledBecause === null ? undefined : id}
        title={disabledBecause ?? undefined}
        onClick={() => {
          if (disabledBecause !== null || isBusy) return
          if (ask) setAsking(true)
          else void go()
        }}
      >
        {text}
      </button>
      {disabledBecause !== null && (
        <span id={id} class="hidden">
          {disabledBecause}
        </span>
      )}
      {!isAsking && error && <Failure error={error} />}
      {isAsking && ask && (
        <Dialog title={ask.title} onClose={() => setAsking(false)}>
          <p>{ask.text}</p>
          {error && <Failure error={error} />}
          <div class="buttons">
            <button
              type="button"
              class={tone === 'plain' ? 'main' : tone}
              aria-disabled={isBusy}
              onClick={() => void go()}
            >
              {text}
            </button>
            <button type="button" onClick={() => setAsking(false)}>
              {words.cancel}
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
