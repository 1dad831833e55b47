import type { ComponentChildren } from 'preact'

/**
 * A table with a name, which scrolls by itself when it is too wide. Its rows are the children.
 * @param kind a class that gives its columns their widths
 */
export function Table({
  caption,
  columns,
  kind,
  children,
}: {
  readonly caption: string
  readonly columns: readonly string[]
  readonly kind?: string
  readonly children: ComponentChildren
}) {
  return (
    <div class="table" role="region" aria-label={caption} tabIndex={0}>
      <table class={kind}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((text) => (
              <th key={text} scope="col">
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
