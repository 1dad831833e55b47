import { writeJson } from '@holdfast/client'
import type { ComponentChildren } from 'preact'
import { CopyButton } from './copy-button.js'

/** A text to be copied, with a button that does so. */
export function CopyText({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="copy">
      <code tabIndex={0} aria-label={label}>
        {text}
      </code>
      <CopyButton text={() => text} />
    </div>
  )
}

/** A value as JSON, in lines, with a button that copies it. @property children buttons in place of that one */
export function Json({
  value,
  label,
  children,
}: {
  readonly value: unknown
  readonly label: string
  readonly children?: ComponentChildren
}) {
  const text = writeJson(value, 2)
  return (
    <div class="json">
      <pre tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <div>{children ?? <CopyButton text={() => text} />}</div>
    </div>
  )
}
