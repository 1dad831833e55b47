import { useLayoutEffect, useRef } from 'preact/hooks'
import { told } from '../live/action.js'
import { addressOf } from '../live/address.js'
import { api } from '../live/api.js'
import type { LineEvent } from '../live/line-events.js'
import { whenSignedIn } from '../live/signed-in.js'
import { copyText } from '../parts/copy-button.js'
import { timeText } from '../parts/time.js'
import { moreWords as text } from '../words/en-log-more.js'
import type { LogSession } from './log-session.js'

/** Sets colours and the like. Nobody wants to paste it. */
const ESCAPES = /\u001b\[[\d;]*m/g

interface MenuProps {
  readonly jobId: number
  readonly session: LogSession
  readonly line: number
  /** What printed the line; null: that is not known. */
  readonly event: LineEvent | null
  /** Says in a few words what was done. */
  say(sentence: string): void
  onEvent(order: number): void
  onClose(): void
}

/** What can be done with a line. */
export function LineMenu({ jobId, session, line, event, say, onEvent, onClose }: MenuProps) {
  const menu = useRef<HTMLDivElement>(null)
  const { marked } = session.model
  const range = marked && marked.from <= line && line <= marked.to ? marked : { from: line, to: line }
  const host = event?.host ?? null
  useLayoutEffect(() => {
    const shown = menu.current
    if (!shown) return
    shown.showPopover()
    placeAt(shown, document.querySelector(`.log-row:not([hidden])[data-line="${line}"]`))
    shown.querySelector<HTMLElement>('[role=menuitem]')?.focus()
  }, [line])

  function choose(act: () => Promise<void> | void) {
    return () => {
      menu.current?.hidePopover()
      whenSignedIn(async () => act()).catch((error: unknown) => {
        told.value = { kind: 'failed', error: error as Error }
      })
    }
  }

  const copy = (copied: () => Promise<string> | string) =>
    choose(async () => {
      await copyText(await copied())
      say(text.copied)
    })
  const link = (hash: string, search = location.search) => `${location.origin}${location.pathname}${search}${hash}`
  const items: (readonly [string, () => void])[] = [
    [range.from === range.to ? text.copyLink : text.copyLinks, copy(() => link(session.hashOf(range)))],
    [text.copyLines(range.to - range.from + 1), copy(() => session.textOf(range))],
  ]
  if (event) items.push([text.copyEventLink, copy(() => link(`#E${event.order}`, ''))])
  if (event && host !== null) {
    items.push([text.copyHost(host), copy(() => outputOfHost(jobId, host))])
    items.push([text.openEvent, choose(() => onEvent(event.order))])
  }
  return (
    <div
      ref={menu}
      popover="auto"
      role="menu"
      class="log-menu"
      aria-label={text.line(line + 1)}
      onToggle={({ newState }) => newState === 'closed' && onClose()}
      onKeyDown={moveFocus}
    >
      <p role="presentation">
        {[text.line(line + 1), host, event && timeText(event.time)].filter(Boolean).join(' · ')}
      </p>
      {items.map(([label, act]) => (
        <button type="button" role="menuitem" tabIndex={-1} key={label} onClick={act}>
          {label}
        </button>
      ))}
      {host !== null && (
        <a
          role="menuitem"
          tabIndex={-1}
          href={addressOf(`/jobs/${jobId}?host=${encodeURIComponent(host)}`)}
          onClick={() => menu.current?.hidePopover()}
        >
          {text.ofHost(host)}
        </a>
      )}
    </div>
  )
}

async function outputOfHost(id: number, host: string): Promise<string> {
  const answer = await api.getJobOutputPieces({ id, host })
  return (await answer.text()).replace(ESCAPES, '')
}

/** Below its line, or above it where there is no room below. */
function placeAt(menu: HTMLElement, row: Element | null): void {
  const { left = 0, top = 0, bottom = 0 } = row?.getBoundingClientRect() ?? {}
  const { offsetWidth, offsetHeight } = menu
  menu.style.left = `${Math.max(4, Math.min(left + 24, innerWidth - offsetWidth - 4))}px`
  menu.style.top = `${bottom + offsetHeight > innerHeight ? Math.max(4, top - offsetHeight) : bottom}px`
}

function moveFocus(event: KeyboardEvent): void {
  const menu = event.currentTarget as HTMLElement
  const items = [...menu.querySelectorAll<HTMLElement>('[role=menuitem]')]
  const at = items.findIndex((item) => item === document.activeElement)
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[event.key]
  if (event.key === 'Tab') menu.hidePopover()
  if (to === undefined) return
  event.preventDefault()
  items[to % items.length]?.focus()
}
