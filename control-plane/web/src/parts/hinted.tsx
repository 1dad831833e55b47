import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** A field with a label and a hint below. @property children makes the input, which is described by the hint's id */
export function Hinted({
  label,
  hint,
  children,
}: {
  readonly label: string
  readonly hint: string
  readonly children: (hintId: string) => ComponentChildren
}) {
  const id = useId()
  return (
    <div class="hinted">
      <label>
        {label}
        {children(id)}
      </label>
      <p id={id} class="soft">
        {hint}
      </p>
    </div>
  )
}
