import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Failure } from './failure.js'

/**
 * Fields and a button that sends them. Errors are shown below the fields, and the entered values stay.
 * @property send gets what the fields hold at that moment; secrets are kept nowhere else
 */
export function EntryForm({
  label,
  submit,
  send,
  done,
  isCleared = false,
  layout = 'inline',
  children,
}: {
  readonly label: string
  readonly submit: string
  readonly send: (data: FormData) => Promise<unknown>
  /** What is said when it worked; left out: the page shows it by itself. */
  readonly done?: string
  /** Whether the fields are emptied afterwards. */
  readonly isCleared?: boolean
  readonly layout?: 'inline' | 'stacked'
  readonly children: ComponentChildren
}) {
  const [error, setError] = useState<Error | null>(null)
  const [isBusy, setBusy] = useState(false)
  const [isDone, setDone] = useState(false)

  async function go(form: HTMLFormElement) {
    setBusy(true)
    setError(null)
    setDone(false)
    try {
      await send(new FormData(form))
      if (isCleared) form.reset()
      setDone(true)
    } catch (failure) {
      setError(failure as Error)
    } finally {
      setBusy(false)
    }
  }

  return (
    <>
      <form
        class={layout}
        aria-label={label}
        onSubmit={(event) => {
          event.preventDefault()
          if (!isBusy) void go(event.currentTarget)
        }}
      >
        {children}
        <button type="submit" aria-disabled={isBusy}>
          {submit}
        </button>
      </form>
      <div role="status">{isDone && done !== undefined && <p class="ok">{done}</p>}</div>
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
