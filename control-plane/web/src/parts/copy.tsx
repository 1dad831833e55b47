import { useState } from 'preact/hooks'
import { words } from '../words/en.js'

/** A text to be copied, with a button that does so. */
export function CopyText({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false)
  return (
    <div class="copy">
      <code tabIndex={0} aria-label={label}>
        {text}
      </code>
      <button
        type="button"
        onClick={() => {
          void navigator.clipboard.writeText(text).then(() => setCopied(true))
        }}
      >
        {isCopied ? words.copied : words.copy}
      </button>
    </div>
  )
}

/** A value as JSON, in lines. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part), 2)
  return (
    <div class="json">
      <pre tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <button type="button" onClick={() => void navigator.clipboard.writeText(text)}>
        {words.copy}
      </button>
    </div>
  )
}
