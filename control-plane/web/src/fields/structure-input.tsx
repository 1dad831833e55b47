import { readJson } from '@holdfast/client'
import { useRef, useState } from 'preact/hooks'
import { isStructure, sameValue, textOfValue } from './value-text.js'

/** What a field for a text needs of its label and its place. */
type Attributes = Readonly<Record<string, unknown>>

/**
 * A computed field that has an object or a list as its value, and may be typed over. It is typed as JSON, and stays an object or a list as
 * soon as the text is one again.
 */
export function StructureInput({
  value,
  change,
  attributes,
}: {
  readonly value: unknown
  readonly change: (value: unknown) => void
  readonly attributes: Attributes
}) {
  const [text, setText] = useState(() => textOfValue(value))
  // A value that somebody else gave, such as the control plane, takes the place of the text.
  const known = useRef(value)
  const shown = sameValue(known.current, value) ? text : textOfValue(value)
  return (
    <textarea
      {...attributes}
      class="mono"
      rows={4}
      value={shown}
      onInput={({ currentTarget: { value: typed } }) => {
        setText(typed)
        known.current = read(typed)
        change(known.current)
      }}
    />
  )
}

/** The object or the list that a text is, or the text. */
function read(text: string): unknown {
  try {
    const value = readJson(text)
    return isStructure(value) ? value : text
  } catch {
    return text
  }
}
