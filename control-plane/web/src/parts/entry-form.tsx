import type { ComponentChildren } from 'preact'
import { useAction } from '../live/action.js'
import { Failure } from './failure.js'

/**
 * Fields and a button that sends them. Errors are shown below the fields, and the entered values stay.
 * @property send gets what the fields hold at that moment; secrets are kept nowhere else
 */
export function EntryForm({
  label,
  submit,
  send,
  receipt,
  isCleared = false,
  layout = 'inline',
  children,
}: {
  readonly label: string
  readonly submit: string
  readonly send: (data: FormData) => Promise<unknown>
  /** What is said when it worked; null: the page shows it by itself. */
  readonly receipt: string | null
  /** Whether the fields are emptied afterwards. */
  readonly isCleared?: boolean
  readonly layout?: 'inline' | 'stacked'
  readonly children: ComponentChildren
}) {
  const { isBusy, error, go } = useAction()
  // What the fields hold is read at once. They may be emptied while a sign-in lies over the page.
  const sendFrom = (form: HTMLFormElement) => {
    const data = new FormData(form)
    return go(async () => {
      await send(data)
      if (isCleared) form.reset()
    }, receipt)
  }

  return (
    <>
      <form
        class={layout}
        aria-label={label}
        onSubmit={(event) => {
          event.preventDefault()
          void sendFrom(event.currentTarget)
        }}
      >
        {children}
        <button type="submit" aria-disabled={isBusy}>
          {submit}
        </button>
      </form>
      {error && <Failure error={error} />}
    </>
  )
}

/** The text of a field of a form. */
export function textOf(data: FormData, name: string): string {
  const value = data.get(name)
  return typeof value === 'string' ? value : ''
}

/** `ops, dba` as a list. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}
