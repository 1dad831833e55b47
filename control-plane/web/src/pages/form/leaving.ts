import { useLocation } from 'preact-iso/router'
import { useEffect, useRef, useState } from 'preact/hooks'
import { BASE, addressOf } from '../../live/address.js'
import { session } from '../../live/session.js'

/** So long it may take until the browser is at an earlier page. In milliseconds. */
const BACK_MS = 1000

/** The way out of a form with entries, and the way back in it. */
export interface Leaving {
  /** Leaves the form after the question was answered; null: nobody wants to leave. */
  readonly asked: (() => void) | null
  stay(): void
  /** Adds a step: Back leads to the present one. */
  push(step: string | null): void
  /** One step back, if there is one. @returns whether there is */
  back(): boolean
  /** Leads elsewhere without a question. The steps of the form are no places to come back to. */
  away(url: string): Promise<void>
}

interface Place {
  readonly depth?: number
  readonly step?: string | null
}

const placeNow = (): Place => (history.state as Place | null) ?? {}
const depthNow = (): number => placeNow().depth ?? 0

/**
 * Asks before entries are left by a link or by Back. The history has an entry of its own for the form with entries (depth
 * 1) and for each step (depth 2 and more), all with the address of the form. Depth 0 lies behind them: who comes there
 * wants to leave.
 * @param isDirty there is something to lose
 * @param step the step of the wizard that is shown
 * @param show shows another step
 */
export function useLeaving(isDirty: boolean, step: string | null, show: (step: string | null) => void): Leaving {
  const { route } = useLocation()
  const latest = useRef({ isDirty, step, show })
  latest.current = { isDirty, step, show }
  const isReleased = useRef(false)
  const [asked, setAsked] = useState<{ readonly leave: () => void } | null>(null)

  const enter = (to: string | null) => history.pushState({ depth: depthNow() + 1, step: to }, '')
  /** To the entry behind those of the form. */
  const unwind = (more: number): Promise<void> =>
    new Promise((resolve) => {
      isReleased.current = true
      const depth = depthNow() + more
      if (depth === 0) return resolve()
      addEventListener('popstate', () => resolve(), { once: true })
      setTimeout(resolve, BACK_MS)
      history.go(-depth)
    })
  const away = async (url: string) => {
    await unwind(0)
    route(url)
  }

  useEffect(() => {
    // The page was loaded again at a step. It begins anew here: the browser may load it again to go to an earlier one.
    if (depthNow() > 0) history.replaceState(null, '')
    const own = location.pathname + location.search
    const leaveBack = async () => {
      await unwind(1)
      // There may be no page before the form.
      if (location.pathname + location.search === own) route(addressOf('/forms'))
    }
    const onPop = () => {
      if (isReleased.current || location.pathname + location.search !== own) return
      if (depthNow() > 0) return latest.current.show(placeNow().step ?? null)
      if (!latest.current.isDirty) return history.back()
      enter(latest.current.step)
      setAsked({ leave: () => void leaveBack() })
    }
    const onClick = (event: MouseEvent) => {
      if (!latest.current.isDirty || isReleased.current) return
      const url = addressOfLink(event)
      if (url === null) return
      event.preventDefault()
      event.stopPropagation()
      setAsked({ leave: () => void away(url) })
    }
    const onUnload = (event: BeforeUnloadEvent) => {
      // After a sign-out the next one at this browser is not asked about entries of somebody else.
      if (latest.current.isDirty && !isReleased.current && session.value.state === 'in') event.preventDefault()
    }
    addEventListener('popstate', onPop)
    document.addEventListener('click', onClick, true)
    addEventListener('beforeunload', onUnload)
    return () => {
      removeEventListener('popstate', onPop)
      document.removeEventListener('click', onClick, true)
      removeEventListener('beforeunload', onUnload)
    }
  }, [])
  useEffect(() => {
    if (isDirty && depthNow() === 0) enter(latest.current.step)
  }, [isDirty])

  return {
    asked: asked && asked.leave,
    stay: () => setAsked(null),
    push(to) {
      if (depthNow() === 0) enter(latest.current.step)
      enter(to)
    },
    back() {
      if (depthNow() < 2) return false
      history.back()
      return true
    },
    away,
  }
}

/** The page of ours to which a click leads, in this tab; null: none. */
function addressOfLink({ target, button, ctrlKey, metaKey, altKey, shiftKey }: MouseEvent): string | null {
  const link = target instanceof Element ? target.closest<HTMLAnchorElement>('a[href]') : null
  const isOther = button !== 0 || ctrlKey || metaKey || altKey || shiftKey
  if (!link || isOther || link.origin !== location.origin || link.hasAttribute('download')) return null
  if (link.target !== '' && link.target !== '_self') return null
  if (link.getAttribute('href')?.startsWith('#') || link.pathname.startsWith(`${BASE}/api/`)) return null
  return link.pathname + link.search + link.hash
}
