import { useState } from 'preact/hooks'
import { courseWords } from '../../words/en-course.js'

/** What a task changed in a file, as `--diff` lets Ansible tell it. */
interface Change {
  readonly before?: unknown
  readonly after?: unknown
  readonly before_header?: unknown
  readonly after_header?: unknown
  readonly prepared?: unknown
}

/** Equal lines that are shown around what differs. */
const AROUND = 3

/** Most lines that are shown at once. */
const MAX_LINES = 1000

/** A line with the sign before it: `-` was there before, `+` is there now. */
type DiffLine = readonly [sign: string, text: string]

/** The changes of a task, line by line. */
export function ResultDiff({ diff, label }: { readonly diff: unknown; readonly label: string }) {
  const [most, setMost] = useState(MAX_LINES)
  const lines = (Array.isArray(diff) ? diff : [diff]).flatMap((change: unknown) => linesOf(change))
  return (
    <pre class="result-text diff" tabIndex={0} role="region" aria-label={label}>
      {lines.slice(0, most).map(([sign, text], at) => (
        <span key={at} class={sign === '-' ? 'bad' : sign === '+' ? 'ok' : undefined}>{`${sign}${text}\n`}</span>
      ))}
      {lines.length > most && (
        <button type="button" onClick={() => setMost(most + MAX_LINES)}>
          {courseWords.more(Math.min(MAX_LINES, lines.length - most))}
        </button>
      )}
    </pre>
  )
}

function linesOf(change: unknown): DiffLine[] {
  if (typeof change !== 'object' || change === null) return [[' ', String(change)]]
  const { before, after, before_header: from, after_header: to, prepared } = change as Change
  if (typeof prepared === 'string') {
    return prepared
      .trimEnd()
      .split('\n')
      .map((line) => [line.slice(0, 1), line.slice(1)] as const)
  }
  if (before === undefined && after === undefined) return [[' ', JSON.stringify(change, null, 2)]]
  const heads = [['-', from] as const, ['+', to] as const].flatMap(([sign, head]): DiffLine[] =>
    typeof head === 'string' && head !== '' ? [[sign, `${sign}${sign} ${head}`]] : [],
  )
  return [...heads, ...differing(textLines(before), textLines(after))]
}

/** Only what lies between the first and the last line that differ, with a few lines around it. */
function differing(before: readonly string[], after: readonly string[]): DiffLine[] {
  const most = Math.min(before.length, after.length)
  let same = 0
  while (same < most && before[same] === after[same]) same += 1
  let sameAtEnd = 0
  while (sameAtEnd < most - same && before.at(-1 - sameAtEnd) === after.at(-1 - sameAtEnd)) sameAtEnd += 1
  const [gone, come] = [before.length - sameAtEnd, after.length - sameAtEnd]
  const signed = (sign: string, lines: readonly string[]) => lines.map((line) => [sign, line] as const)
  return [
    ...signed(' ', after.slice(Math.max(0, same - AROUND), same)),
    ...signed('-', before.slice(same, gone)),
    ...signed('+', after.slice(same, come)),
    ...signed(' ', after.slice(come, come + AROUND)),
  ]
}

function textLines(value: unknown): string[] {
  if (value === undefined || value === null || value === '') return []
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return text.replace(/\n$/, '').split('\n')
}
