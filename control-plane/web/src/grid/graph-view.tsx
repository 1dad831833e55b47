import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { type DrawnLink, type GraphNode, type Place, layOut } from './graph-layout.js'

/** Sizes in pixels. */
const NODE = { width: 190, height: 54 } as const
const GAP = { column: 70, row: 18 } as const
const EDGE = 12

interface GraphViewProps<Node extends GraphNode> {
  readonly label: string
  readonly nodes: readonly Node[]
  /** The colour of a node. */
  readonly toneOf: (node: Node) => string
  /** Whether a link has fired: null while that is open. */
  readonly hasFired: (link: DrawnLink) => boolean | null
  readonly children: (node: Node) => ComponentChildren
}

/** A graph in columns. Its nodes are a list; the lines between them are only for the eye. */
export function GraphView<Node extends GraphNode>({ label, nodes, toneOf, hasFired, children }: GraphViewProps<Node>) {
  // The graph is read again and again, and its links stay what they are.
  const shape = JSON.stringify(nodes.map(({ identifier, links }) => [identifier, links]))
  const layout = useMemo(() => layOut(nodes), [shape])
  const width = leftOf(layout.columns) - GAP.column + EDGE
  const height = topOf(layout.rows) - GAP.row + EDGE
  return (
    <div class="graph" role="region" aria-label={label} tabIndex={0}>
      <div class="graph-space" style={{ width: `${width}px`, height: `${height}px` }}>
        <svg width={width} height={height} aria-hidden="true">
          {layout.links.map((link) => {
            const fired = hasFired(link)
            const last = link.places.at(-1)
            return (
              <g
                key={`${link.from} ${link.to}`}
                class={`graph-link ${link.when}${fired === null ? '' : fired ? ' fired' : ' missed'}`}
              >
                <path d={lineOf(link.places)} />
                {last && <path class="graph-tip" d={`M${leftOf(last.column)} ${middleOf(last.row)}l-8 -4v8z`} />}
              </g>
            )
          })}
        </svg>
        <ul aria-label={label}>
          {nodes.map((node) => {
            const { column, row } = layout.places.get(node.identifier) ?? { column: 0, row: 0 }
            return (
              <li
                key={node.identifier}
                class={`graph-node ${toneOf(node)}`}
                style={{
                  left: `${leftOf(column)}px`,
                  top: `${topOf(row)}px`,
                  width: `${NODE.width}px`,
                  height: `${NODE.height}px`,
                }}
              >
                {children(node)}
              </li>
            )
          })}
        </ul>
      </div>
    </div>
  )
}

const leftOf = (column: number) => EDGE + column * (NODE.width + GAP.column)
const topOf = (row: number) => EDGE + row * (NODE.height + GAP.row)
const middleOf = (row: number) => topOf(row) + NODE.height / 2

/** A line through these places: level beside and between nodes, bent between columns. */
function lineOf([first, ...others]: readonly Place[]): string {
  if (!first) return ''
  let x = leftOf(first.column) + NODE.width
  let line = `M${x} ${middleOf(first.row)}`
  for (const [index, { column, row }] of others.entries()) {
    const [to, y] = [leftOf(column), middleOf(row)]
    const bend = x + (to - x) / 2
    line += `C${bend} ${lastY(first, others, index)} ${bend} ${y} ${to} ${y}`
    x = to + NODE.width
    if (index < others.length - 1) line += `H${x}`
  }
  return line
}

function lastY(first: Place, others: readonly Place[], index: number): number {
  return middleOf((others[index - 1] ?? first).row)
}
