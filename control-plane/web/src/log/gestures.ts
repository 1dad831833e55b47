import type { LogModel } from './log-model.js'

/** Lines that one step of a wheel moves, for a mouse that says lines and not pixels. */
const WHEEL_LINE = 18

/**
 * Notices on an element what somebody wants to see. Only a wheel, a touch, a key or a pull at the scrollbar says so. A
 * scroll event alone says nothing: growing output and our own moves cause it, too.
 * @param height of the visible part, in pixels
 * @returns ends all listening
 */
export function listenToGestures(
  scroller: HTMLElement,
  sheet: HTMLElement,
  model: LogModel,
  onForeignScroll: () => void,
): () => void {
  const stopping = new AbortController()
  const { signal } = stopping
  // True from the press of a pointer until its scrolling has come to rest.
  let isHeld = false
  let isTouch = false
  let lastTop = 0

  scroller.addEventListener(
    'wheel',
    (event) => {
      // The browser itself handles sideways scrolling and zooming.
      if (event.ctrlKey || event.deltaY === 0) return
      event.preventDefault()
      const unit = [1, WHEEL_LINE, scroller.clientHeight][event.deltaMode] ?? 1
      model.moveBy(event.deltaY * unit)
    },
    { passive: false, signal },
  )
  scroller.addEventListener(
    'pointerdown',
    (event) => {
      isHeld = true
      isTouch = event.pointerType === 'touch'
      lastTop = scroller.scrollTop
    },
    { signal },
  )
  for (const name of ['pointerup', 'pointercancel'] as const) {
    addEventListener(
      name,
      () => {
        // A touch goes on scrolling after the finger is gone.
        if (!isTouch) isHeld = false
      },
      { signal },
    )
  }
  scroller.addEventListener('scrollend', () => (isHeld &&= !isTouch), { signal })
  scroller.addEventListener(
    'scroll',
    () => {
      const top = scroller.scrollTop
      if (Math.abs(top - model.window.scrollTop) <= 1) return
      if (!isHeld) return onForeignScroll()
      // A finger moves the lines under it, however long the output is.
      if (isTouch) model.moveBy(top - lastTop)
      else model.scrollTo(top)
      lastTop = scroller.scrollTop
    },
    { signal, passive: true },
  )
  document.addEventListener(
    'selectionchange',
    () => {
      const selection = getSelection()
      if (!selection || selection.isCollapsed || !model.isFollowing) return
      if (selection.anchorNode && sheet.contains(selection.anchorNode)) model.stay()
    },
    { signal },
  )
  return () => stopping.abort()
}
