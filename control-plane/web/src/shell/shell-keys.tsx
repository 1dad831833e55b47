import { useLocation } from 'preact-iso/router'
import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../live/address.js'
import { useAnswer } from '../live/answer.js'
import { hasLetterKeys } from '../live/letter-keys.js'

/** Where the key after `g` leads. */
const PLACES: Readonly<Record<string, string>> = { j: '/jobs', f: '/forms', a: '/approvals' }
/** The second key counts for so many milliseconds after the first one. */
const PAIR_MS = 1500

/** The dialog, which is loaded when it is opened for the first time. */
function GoTo({ close }: { readonly close: () => void }) {
  const { value } = useAnswer('go-to', [], () => import('./go-to.js'))
  return value && <value.GoTo close={close} />
}

/** Keys that do the same on every page: Ctrl+K and `?` open what leads to everything, `g` and a letter go to a page. */
export function ShellKeys() {
  const { route } = useLocation()
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    let pairUntil = 0
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || document.querySelector('dialog[open]')) return
      const isCommand = event.ctrlKey || event.metaKey
      if (isCommand && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        setOpen(true)
        return
      }
      if (isCommand || event.altKey || !hasLetterKeys.value || isText(event.target)) return
      const path = event.timeStamp < pairUntil ? PLACES[event.key] : undefined
      pairUntil = event.key === 'g' ? event.timeStamp + PAIR_MS : 0
      if (event.key === '?') setOpen(true)
      else if (path !== undefined) route(addressOf(path))
      else return
      event.preventDefault()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return isOpen ? <GoTo close={() => setOpen(false)} /> : null
}

/** Whether a key writes a letter there. */
function isText(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}
