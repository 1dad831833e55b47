import { session } from '../live/session.js'

/** The page on which somebody typed or changed an entry last. */
let changedAt: string | null = null

const noteChange =
  (within: string) =>
  ({ target }: Event) => {
    // The name and the password of a sign-in are used up.
    if (session.value.state === 'in' && target instanceof Element && target.closest(within))
      changedAt = location.pathname
  }
addEventListener('input', noteChange('main'), true)
// A row that was removed, and a secret that is shown only once, are changes, too.
addEventListener('click', noteChange('main form button'), true)

/** Whether the page, when it is loaded again, would take something from who uses it: entries, a question, the focus. */
export function isBusy(): boolean {
  return (
    changedAt === location.pathname ||
    document.querySelector('dialog[open], .menu > *') !== null ||
    document.activeElement?.matches('input, select, textarea') === true
  )
}
