import type { ComponentChildren } from 'preact'

/** One fact of a list of facts (`<dl>`): its name and what is true. */
export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
