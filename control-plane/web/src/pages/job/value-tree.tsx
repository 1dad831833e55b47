import { useState } from 'preact/hooks'
import { bytesText } from '../../parts/time.js'
import { courseWords } from '../../words/en-course.js'

/** Most entries of an object or a list, and most characters of a text, that are shown at once. */
const MAX_ENTRIES = 100
const MAX_CHARACTERS = 2000

/** The entries of an object or a list. What is inside of an entry is made only when somebody opens it. */
export function ValueTree({ value }: { readonly value: object }) {
  const [most, setMost] = useState(MAX_ENTRIES)
  const entries = Object.entries(value)
  return (
    <ul class="tree">
      {entries.slice(0, most).map(([name, one]) => (
        <Entry key={name} name={name} value={one} />
      ))}
      {entries.length > most && (
        <li>
          <button type="button" onClick={() => setMost(most + MAX_ENTRIES)}>
            {courseWords.more(Math.min(MAX_ENTRIES, entries.length - most))}
          </button>
        </li>
      )}
    </ul>
  )
}

function Entry({ name, value }: { readonly name: string; readonly value: unknown }) {
  const [isOpen, setOpen] = useState(false)
  const size = typeof value === 'object' && value !== null ? Object.keys(value).length : 0
  if (size > 0) {
    return (
      <li>
        <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>
            {name} <span class="soft">{courseWords.entries(size)}</span>
          </summary>
          {isOpen && <ValueTree value={value as object} />}
        </details>
      </li>
    )
  }
  return (
    <li>
      {name}: <code>{typeof value === 'string' ? <LongText text={value} quote='"' /> : emptyText(value)}</code>
    </li>
  )
}

function emptyText(value: unknown): string {
  if (Array.isArray(value)) return '[]'
  return typeof value === 'object' && value !== null ? '{}' : String(value)
}

/** The beginning of a text. The rest comes when somebody asks for it. */
export function LongText({
  text,
  most = MAX_CHARACTERS,
  quote = '',
}: {
  readonly text: string
  readonly most?: number
  /** What stands before and after it. */
  readonly quote?: string
}) {
  const [isWhole, setWhole] = useState(false)
  if (isWhole || text.length <= most) return <>{quote + text + quote}</>
  return (
    <>
      {`${quote}${text.slice(0, most)}… `}
      <button type="button" onClick={() => setWhole(true)}>
        {courseWords.showAll(bytesText(text.length))}
      </button>
    </>
  )
}
