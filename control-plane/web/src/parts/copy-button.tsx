import { useState } from 'preact/hooks'
import { words } from '../words/en.js'

/** A button that copies a text, and then says so. @property text is made only when it is copied */
export function CopyButton({ text, label = words.copy }: { readonly text: () => string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false)
  return (
    <button
      type="button"
      onClick={() => {
        void navigator.clipboard.writeText(text()).then(() => setCopied(true))
      }}
    >
      {isCopied ? words.copied : label}
    </button>
  )
}
