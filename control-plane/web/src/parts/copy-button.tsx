import { useState } from 'preact/hooks'
import { words } from '../words/en.js'

/** Copies a text. @throws Error where the browser does not allow it, with a sentence for people */
export async function copyText(text: string): Promise<void> {
  // Browsers have it only where the page came over TLS, or from this machine.
  if (!isSecureContext) throw new Error(words.noCopy)
  await navigator.clipboard.writeText(text)
}

/** A button that copies a text, and then says so. @property text is made only when it is copied */
export function CopyButton({ text, label = words.copy }: { readonly text: () => string; readonly label?: string }) {
  const [said, say] = useState<string | null>(null)
  return (
    <button
      type="button"
      onClick={() => {
        copyText(text()).then(
          () => say(words.copied),
          (error: unknown) => say((error as Error).message),
        )
      }}
    >
      {said ?? label}
    </button>
  )
}
