import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Time, durationText, timeText } from '../parts/time.js'
import { courseWords } from '../words/en-course.js'
import { words } from '../words/en.js'
import { type TimeRange, idleTimes, timeScale } from './time-scale.js'

/** How large times are shown. */
export interface TimeView {
  /** 1: all of the time fits into the table. */
  readonly zoom: number
  /** Times in which nothing ran are short. */
  readonly isFolded: boolean
}

const MAX_ZOOM = 256
/** Marks of the axis, and its least width in pixels, for each step of the zoom. */
const MARKS = 5
const WIDTH = 480

/** The view after a change of the zoom. @param by 2: larger; 0.5: smaller; 0: all */
export const zoomed = (view: TimeView, by: number): TimeView => ({
  ...view,
  zoom: Math.max(1, Math.min(MAX_ZOOM, view.zoom * by)),
})

const ZOOM_KEYS: Readonly<Record<string, number>> = { '+': 2, '=': 2, '-': 0.5, '0': 0 }

/** A row of {@link TimeBars}. */
export interface TimeRow {
  readonly key: string
  readonly name: ComponentChildren
  readonly start: number
  /** Milliseconds; null: it is not over. */
  readonly took: number | null
  readonly parts: readonly TimeRange[]
  /** The colour. */
  readonly tone: string
  /** It is a part of the row above it. */
  readonly isPart?: boolean
  /** Where its output is. */
  readonly href?: string | undefined
  /** What `href` leads to. */
  readonly output?: string
}

interface TimeBarsProps {
  readonly label: string
  /** The title of the first column. */
  readonly first: string
  readonly range: TimeRange
  readonly rows: readonly TimeRow[]
  /** When something ran. */
  readonly busy: readonly TimeRange[]
  readonly view: TimeView
  readonly setView: (view: TimeView) => void
}

const percent = (part: number) => `${(part * 100).toFixed(3)}%`

/** A table in which each row also has a bar: when it began, and how long it took. */
export function TimeBars({ label, first, range, rows, busy, view, setView }: TimeBarsProps) {
  const folds = view.isFolded ? idleTimes(busy, range) : []
  const { placeOf, marks } = timeScale(range, folds)
  const { zoom } = view
  const region = useZoomPlace(zoom)
  return (
    <>
      {folds.length > 0 && (
        <p class="soft">
          {folds.map(({ start, end }) => courseWords.idle(durationText(end - start), timeText(start))).join(' ')}
        </p>
      )}
      <div
        ref={region}
        class="table timeline"
        role="region"
        aria-label={label}
        tabIndex={0}
        onKeyDown={(event) => {
          const by = ZOOM_KEYS[event.key]
          if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return
          event.preventDefault()
          setView(zoomed(view, by))
        }}
      >
        <table style={{ '--folds': stripesOf(folds, placeOf) }}>
          <caption class="hidden">{label}</caption>
          <thead>
            <tr>
              <th scope="col">{first}</th>
              <th scope="col">{courseWords.started}</th>
              <th scope="col">{courseWords.duration}</th>
              <th scope="col" class="bar-cell" style={{ minWidth: zoom === 1 ? '' : `${zoom * WIDTH}px` }}>
                {courseWords.share}
                <div class="axis" aria-hidden="true">
                  {marks(zoom * MARKS).map((time) => (
                    <span key={time} style={{ left: percent(placeOf(time)) }}>
                      {durationText(time - range.start)}
                    </span>
                  ))}
                  {folds.map(({ start, end }) => (
                    <b key={start} style={{ left: percent(placeOf(start)) }}>
                      ⋯ {durationText(end - start)}
                    </b>
                  ))}
                </div>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <BarRow key={row.key} row={row} placeOf={placeOf} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

function BarRow({ row, placeOf }: { readonly row: TimeRow; readonly placeOf: (time: number) => number }) {
  const { name, start, took, parts, tone, isPart, href, output } = row
  const bars = parts.map((part) => {
    const left = placeOf(part.start)
    return (
      <i
        key={part.start}
        class={`bar ${tone}`}
        style={{ left: percent(left), width: percent(placeOf(part.end) - left) }}
      />
    )
  })
  return (
    <tr class={isPart ? 'part' : undefined}>
      <td class={tone.startsWith('play') ? 'play' : undefined}>{name}</td>
      <td class="number">
        <Time at={new Date(start).toISOString()} />
      </td>
      <td class="number">{took === null ? words.none : durationText(took)}</td>
      <td>
        {href === undefined ? (
          <div class="bars">{bars}</div>
        ) : (
          // For the keyboard and for screen readers the name of the row is a link already.
          <a class="bars" href={href} tabIndex={-1} aria-hidden="true" title={output}>
            {bars}
          </a>
        )}
      </td>
    </tr>
  )
}

/** A background that shows where time is folded. */
function stripesOf(folds: readonly TimeRange[], placeOf: (time: number) => number): string {
  const stops = folds.flatMap(({ start, end }) => {
    const [from, to] = [percent(placeOf(start)), percent(placeOf(end))]
    return [`transparent ${from}`, `var(--line) ${from} ${to}`, `transparent ${to}`]
  })
  return stops.length === 0 ? 'none' : `linear-gradient(90deg, ${stops.join()})`
}

/** Keeps the time in the middle of the table there when the zoom changes. */
function useZoomPlace(zoom: number) {
  const region = useRef<HTMLDivElement>(null)
  const before = useRef({ zoom, middle: 0.5 })
  useLayoutEffect(() => {
    const { current: shown } = region
    const axis = shown?.querySelector<HTMLElement>('.bar-cell')
    if (!shown || !axis) return undefined
    const { clientWidth: width } = shown
    // The names stay at the left, whatever the table shows.
    const names = Math.min(shown.querySelector('th')?.offsetWidth ?? 0, width / 2)
    if (before.current.zoom !== zoom) {
      shown.scrollLeft = axis.offsetLeft + before.current.middle * axis.offsetWidth - (names + width) / 2
    }
    const note = () => {
      const left = axis.offsetLeft - shown.scrollLeft
      const middle = (Math.max(names, left) + Math.min(width, left + axis.offsetWidth)) / 2
      before.current = { zoom, middle: (middle - left) / axis.offsetWidth }
    }
    note()
    shown.addEventListener('scroll', note)
    return () => shown.removeEventListener('scroll', note)
  }, [zoom])
  return region
}
