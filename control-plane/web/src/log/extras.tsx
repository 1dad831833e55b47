import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type LineEvent, eventsOf } from '../live/line-events.js'
import { moreWords as text } from '../words/en-log-more.js'
import type { ExtrasProps } from './extras-props.js'
import { KeysDialog } from './keys-dialog.js'
import { LineMenu } from './line-menu.js'
import type { LogSession } from './log-session.js'
import { linesOfPlace } from './place-link.js'
import { type LineMarks, markLines } from './row-marks.js'

interface OpenMenu {
  readonly line: number
  readonly event: LineEvent | null
}

/** What an output view can do beyond showing lines. It is loaded after the first lines. */
export function LogExtras(props: ExtrasProps) {
  const { view, session, scroller, actions } = props
  const { jobId, source } = view
  const [opened, setOpened] = useState<OpenMenu | null>(null)
  const [said, say] = useState('')
  const [hasKeys, showKeys] = useState(false)
  const state = useRef(view)
  state.current = view
  usePlaceOfAddress(props, say)

  useLayoutEffect(() => {
    const running = session.current
    const shown = scroller.current
    if (!running || !shown) return
    const stop = new AbortController()
    const events = source?.events ?? eventsOf(jobId, () => state.current.isOver)
    const marks = markLines(jobId, running, events, () => state.current.isOver, stop.signal)
    const open = (line: number) => void openMenu(running, marks, line, setOpened)
    followPointer(shown, running, open, stop.signal)
    actions.act = () => {
      if (actions.wanted === 'keys') showKeys(true)
      else if (actions.wanted === 'menu') open(cursorOf(running))
      actions.wanted = null
    }
    actions.act()
    return () => {
      actions.act = null
      stop.abort()
    }
  }, [source])

  return (
    <>
      <span role="status">{said}</span>
      {hasKeys && <KeysDialog onClose={() => showKeys(false)} />}
      {opened && session.current && (
        <LineMenu
          jobId={jobId}
          session={session.current}
          {...opened}
          say={say}
          onEvent={view.onEvent}
          onClose={() => {
            setOpened(null)
            const { activeElement: focused } = document
            if (focused === document.body || scroller.current?.contains(focused)) scroller.current?.focus()
          }}
        />
      )}
    </>
  )
}

/** Opens the menu at once. What needs the event of the line follows when it is known. */
async function openMenu(
  { model, painter }: LogSession,
  marks: LineMarks,
  line: number,
  setOpened: (change: (before: OpenMenu | null) => OpenMenu | null) => void,
): Promise<void> {
  model.stay()
  if (!model.window.placed().some((one) => one.line === line)) model.goTo(line)
  painter.paint()
  const known = marks.eventOf(line)
  setOpened(() => ({ line, event: known ?? null }))
  if (known !== undefined) return
  const event = await marks.find(line).catch(() => null)
  setOpened((before) => (before?.line === line ? { line, event } : before))
}

/** The line that keys are about. Who follows the end sees no cursor. */
function cursorOf({ model }: LogSession): number {
  return model.isFollowing ? Math.max(0, model.store.lines - 1) : model.cursor
}

/** Puts the button of the menu to the line under the pointer, or to the one that a key went to. */
function followPointer(
  scroller: HTMLElement,
  { model, painter }: LogSession,
  open: (line: number) => void,
  signal: AbortSignal,
): void {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'log-menu-button'
  button.tabIndex = -1
  button.textContent = '⋮'
  button.ariaLabel = text.lineMenu
  button.ariaHasPopup = 'menu'
  const rowOf = (target: EventTarget | null) =>
    target instanceof Element ? target.closest<HTMLElement>('.log-row') : null
  button.addEventListener('click', () => open(Number(rowOf(button)?.dataset.line)))
  const over = ({ target }: Event) => {
    const row = rowOf(target)
    // A button that is put in anew under a pressed pointer gets no click.
    if (row !== button.parentElement) row?.append(button)
  }
  scroller.addEventListener('pointerover', over, { signal })
  const mark = painter.decorate
  let cursor = model.cursor
  painter.decorate = (row, line) => {
    mark?.(row, line)
    if (line !== model.cursor || cursor === line || model.isFollowing) return
    cursor = line
    row.append(button)
  }
  signal.addEventListener('abort', () => button.remove())
}

/** Goes to the event, the task or the host that the address names, as soon as its output is there. */
function usePlaceOfAddress({ view, session }: ExtrasProps, say: (sentence: string) => void): void {
  const { jobId, source, events, bytes, isOver } = view
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const look = () => {
      say('')
      setHash(location.hash)
    }
    addEventListener('hashchange', look)
    return () => removeEventListener('hashchange', look)
  }, [])
  useEffect(() => {
    if (!session.current?.isAsking) return
    const stop = new AbortController()
    const take = (range: Awaited<ReturnType<typeof linesOfPlace>>) => {
      const running = session.current
      if (stop.signal.aborted || !running || (range === null && !isOver)) return
      if (range === null) say(text.noPlace)
      running.wish(range)
    }
    // The lines of pieces have other numbers.
    if (source) session.current.wish(null)
    else linesOfPlace(jobId, hash, stop.signal).then(take, () => undefined)
    return () => stop.abort()
  }, [hash, events, bytes, isOver])
}
