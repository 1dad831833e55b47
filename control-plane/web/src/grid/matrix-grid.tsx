import type { RefObject, VNode } from 'preact'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { courseWords } from '../words/en-course.js'
import { type Cell, cellAfterKey, placeToSee, spanInSight } from './span.js'

/** Pixels. The style says the same sizes. */
const CELL = { width: 26, height: 28 }
const HEAD = { least: 44, most: 120, padding: 18, letter: 8 }
const TASK_WIDTH = { wide: 300, narrow: 120 }
const NARROW = 600

/** The letter in a cell, its colour, and the word that a screen reader says. */
const SIGNS: Readonly<Record<string, readonly [sign: string, tone: string]>> = {
  '>': ['◐', 'run'],
  o: ['✓', 'ok'],
  c: ['±', 'wait'],
  f: ['✕', 'bad'],
  i: ['!', 'warn'],
  r: ['↺', 'warn'],
  s: ['–', 'off'],
  u: ['⊘', 'bad'],
}

/** A row: a task, and where its output is. */
export interface GridTask {
  readonly name: string
  /** How long it took. */
  readonly took: string
  /** More about it, in a line. */
  readonly title: string
  readonly href: string
}

interface MatrixGridProps {
  readonly hosts: readonly string[]
  readonly tasks: readonly GridTask[]
  /** Where the output of a host is. */
  readonly hrefOf: (host: string) => string
  /** The letter of a task at a host, by their numbers. */
  readonly letterOf: (task: number, host: number) => string
  readonly open: (cell: Cell) => void
}

/** What the signs mean that are in the table. */
export function SignLegend({ isThere }: { readonly isThere: (letter: string) => boolean }) {
  return (
    <ul class="legend soft" aria-label={courseWords.signs}>
      {Object.entries(SIGNS)
        .filter(([letter]) => isThere(letter))
        .map(([letter, [sign, tone]]) => (
          <li key={letter}>
            <span class={`grid-cell ${tone}`} aria-hidden="true">
              {sign}
            </span>
            {courseWords.outcome[letter]}
          </li>
        ))}
    </ul>
  )
}

/** The visible part of an element that scrolls, in pixels, and a function that looks again. */
function useSight(grid: RefObject<HTMLElement | null>) {
  const [sight, setSight] = useState({ left: 0, top: 0, width: 0, height: 0 })
  const look = () => {
    const { current } = grid
    if (!current) return
    const { scrollLeft: left, scrollTop: top, clientWidth: width, clientHeight: height } = current
    setSight((before) => {
      const isSame = before.left === left && before.top === top && before.width === width && before.height === height
      return isSame ? before : { left, top, width, height }
    })
  }
  useLayoutEffect(look)
  useLayoutEffect(() => {
    const watch = new ResizeObserver(look)
    if (grid.current) watch.observe(grid.current)
    return () => watch.disconnect()
  }, [])
  return [sight, look] as const
}

/** A table of tasks and hosts. Only the visible cells are on the page. The Tab key stops once at the table. */
export function MatrixGrid({ hosts, tasks, hrefOf, letterOf, open }: MatrixGridProps) {
  const grid = useRef<HTMLDivElement>(null)
  const [sight, look] = useSight(grid)
  const [wanted, setActive] = useState<Cell>({ row: 0, column: 0 })
  const active = { row: Math.min(wanted.row, tasks.length - 1), column: Math.min(wanted.column, hosts.length - 1) }
  const taskWidth = sight.width < NARROW ? TASK_WIDTH.narrow : TASK_WIDTH.wide
  // As high as the longest name needs.
  const longest = useMemo(() => hosts.reduce((most, { length }) => Math.max(most, length), 0), [hosts])
  const headHeight = Math.min(HEAD.most, Math.max(HEAD.least, HEAD.padding + HEAD.letter * longest))
  const inner = { width: Math.max(CELL.width, sight.width - taskWidth), height: sight.height - headHeight }
  const rows = spanInSight(tasks.length, CELL.height, sight.top, inner.height)
  const columns = spanInSight(hosts.length, CELL.width, sight.left, inner.width)
  const go = (cell: Cell) => {
    setActive(cell)
    grid.current?.scrollTo(
      placeToSee(cell.column, CELL.width, sight.left, inner.width),
      placeToSee(cell.row, CELL.height, sight.top, inner.height),
    )
  }
  const hostNumbers = numbersIn(columns)
  const openCell = (cell: Cell) => {
    setActive(cell)
    open(cell)
  }
  const looks = { hosts, tasks, letterOf, hostNumbers, taskWidth, headHeight, active, open: openCell }
  const rowOf = useKeptRows(
    [hosts, tasks, letterOf, open, columns.from, columns.to, taskWidth, headHeight, active.row, active.column],
    (task) => <TaskRow key={task} task={task} {...looks} />,
  )
  const width = taskWidth + hosts.length * CELL.width
  return (
    <div
      ref={grid}
      class="grid"
      role="grid"
      tabIndex={0}
      aria-label={courseWords.grid}
      aria-readonly="true"
      aria-rowcount={tasks.length + 1}
      aria-colcount={hosts.length + 1}
      aria-activedescendant={idOf(active)}
      onScroll={look}
      onKeyDown={(event) => {
        const page = Math.max(1, Math.floor(inner.height / CELL.height) - 1)
        const next = cellAfterKey(event, active, { rows: tasks.length, columns: hosts.length, page })
        if (next) go(next)
        else if (event.key === 'Enter') open(active)
        else return
        event.preventDefault()
      }}
    >
      <div
        class="grid-space"
        role="presentation"
        style={{ width: px(width), height: px(headHeight + tasks.length * CELL.height) }}
      >
        <HostRow
          hosts={hosts}
          hrefOf={hrefOf}
          hostNumbers={hostNumbers}
          taskWidth={taskWidth}
          headHeight={headHeight}
        />
        {numbersIn(rows).map(rowOf)}
      </div>
    </div>
  )
}

/**
 * Rows by their numbers. A row is kept until one of `inputs` changes: what is kept is not compared again, so scrolling costs
 * only the new rows.
 */
function useKeptRows(inputs: readonly unknown[], make: (task: number) => VNode): (task: number) => VNode {
  const kept = useMemo(() => new Map<number, VNode>(), inputs)
  return (task) => {
    const row = kept.get(task) ?? make(task)
    kept.set(task, row)
    return row
  }
}

interface InSight {
  readonly hosts: readonly string[]
  /** The numbers of the hosts that are in sight. */
  readonly hostNumbers: readonly number[]
  /** Pixels of the column with the names of the tasks, and of the row with those of the hosts. */
  readonly taskWidth: number
  readonly headHeight: number
}

function HostRow({ hosts, hrefOf, hostNumbers, taskWidth, headHeight }: InSight & Pick<MatrixGridProps, 'hrefOf'>) {
  return (
    <div class="grid-head" role="row" aria-rowindex={1} style={{ height: px(headHeight) }}>
      <div class="grid-corner" role="columnheader" aria-colindex={1} style={{ width: px(taskWidth) }}>
        {courseWords.task}
      </div>
      {hostNumbers.map((host) => (
        <div
          key={host}
          class="grid-host"
          role="columnheader"
          aria-colindex={host + 2}
          title={hosts[host]}
          style={{ left: px(taskWidth + host * CELL.width) }}
        >
          <a href={hrefOf(hosts[host] ?? '')} tabIndex={-1}>
            {hosts[host]}
          </a>
        </div>
      ))}
    </div>
  )
}

interface TaskRowProps extends InSight, Omit<MatrixGridProps, 'hrefOf'> {
  readonly task: number
  readonly active: Cell
}

function TaskRow({ hosts, tasks, letterOf, open, task, hostNumbers, taskWidth, headHeight, active }: TaskRowProps) {
  const { name = '', took, title, href } = tasks[task] ?? {}
  return (
    <div
      class="grid-row"
      role="row"
      aria-rowindex={task + 2}
      style={{ top: px(headHeight + task * CELL.height) }}
      onClick={({ target }) => {
        const column = target instanceof Element && target.closest('[role=gridcell]')?.getAttribute('aria-colindex')
        if (column) open({ row: task, column: Number(column) - 2 })
      }}
    >
      <div class="grid-task" role="rowheader" aria-colindex={1} title={title} style={{ width: px(taskWidth) }}>
        <a href={href} tabIndex={-1}>
          {name}
        </a>
        <span class="soft">{took}</span>
      </div>
      {hostNumbers.map((host) => {
        const letter = letterOf(task, host)
        const [sign, tone] = SIGNS[letter] ?? ['', 'none']
        const isActive = task === active.row && host === active.column
        return (
          <div
            key={host}
            id={isActive ? idOf(active) : undefined}
            class={`grid-cell ${tone}${isActive ? ' active' : ''}`}
            role="gridcell"
            aria-colindex={host + 2}
            aria-label={courseWords.cell(name, hosts[host] ?? '', courseWords.outcome[letter] ?? letter)}
            style={`left:${taskWidth + host * CELL.width}px`}
          >
            {sign}
          </div>
        )
      })}
    </div>
  )
}

const px = (count: number) => `${count}px`

const idOf = ({ row, column }: Cell) => `cell-${row}-${column}`

const numbersIn = ({ from, to }: { readonly from: number; readonly to: number }) =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)
