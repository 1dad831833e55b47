/** When a link fires. */
export const WHENS = ['success', 'failure', 'always'] as const
/** One of {@link WHENS}. */
export type When = (typeof WHENS)[number]

/** A node of a graph, with the identifiers of what follows. */
export interface GraphNode {
  readonly identifier: string
  readonly links: { readonly [Kind in When]: readonly string[] }
}

/** A place in the graph: columns go from left to right, rows from top to bottom. */
export interface Place {
  readonly column: number
  readonly row: number
}

/** A link as it is drawn: the places through which it goes. The first and the last are those of its nodes. */
export interface DrawnLink {
  readonly from: string
  readonly to: string
  readonly when: When
  readonly places: readonly Place[]
}

/** Where everything is. */
export interface GraphLayout {
  readonly places: ReadonlyMap<string, Place>
  readonly links: readonly DrawnLink[]
  readonly columns: number
  readonly rows: number
}

/** A node, or the place that a link needs in a column which it only passes. */
interface Item {
  readonly column: number
  readonly before: Item[]
  row: number
}

/**
 * Lays a graph out: each node stands in a column to the right of all nodes before it. In a column the nodes are ordered
 * by where the nodes before them stand, so that few links cross. A link that passes a column has a place of its own
 * there, so that it never runs behind a node. Links to unknown nodes are left out.
 */
export function layOut(nodes: readonly GraphNode[]): GraphLayout {
  const pairs = pairsOf(nodes)
  const depths = depthsOf(nodes, pairs)
  const items = new Map(nodes.map(({ identifier: name }) => [name, itemAt(depths.get(name) ?? 0)]))
  const columns: Item[][] = []
  const put = (item: Item) => {
    const column = (columns[item.column] ??= [])
    column.push(item)
    return item
  }
  for (const item of items.values()) put(item)
  const ways = pairs.map((pair) => {
    const [first, last] = [items.get(pair.from) ?? itemAt(0), items.get(pair.to) ?? itemAt(0)]
    const way = [first]
    for (let column = first.column + 1; column < last.column; column += 1) {
      const passed = put(itemAt(column))
      passed.before.push(way.at(-1) ?? first)
      way.push(passed)
    }
    last.before.push(way.at(-1) ?? first)
    return { ...pair, items: [...way, last] }
  })
  for (const column of columns) orderColumn(column)
  return {
    places: new Map([...items].map(([name, item]) => [name, placeOf(item)])),
    links: ways.map(({ items: way, ...pair }) => ({ ...pair, places: way.map(placeOf) })),
    columns: columns.length,
    rows: Math.max(0, ...columns.flat().map(({ row }) => row + 1)),
  }
}

const itemAt = (column: number): Item => ({ column, before: [], row: 0 })
const placeOf = ({ column, row }: Item): Place => ({ column, row })

/** Each two linked nodes once. Two nodes that are linked for a success and for a failure are linked for always. */
function pairsOf(nodes: readonly GraphNode[]): Omit<DrawnLink, 'places'>[] {
  const known = new Set(nodes.map(({ identifier }) => identifier))
  return nodes.flatMap(({ identifier: from, links }) => {
    const whens = new Map<string, When>()
    for (const when of WHENS) {
      for (const to of links[when]) {
        if (known.has(to) && to !== from) whens.set(to, whens.has(to) ? 'always' : when)
      }
    }
    return [...whens].map(([to, when]) => ({ from, to, when }))
  })
}

/** How many nodes come before each node on the longest way to it. Nodes in a circle, which the service refuses, stay at 0. */
function depthsOf(nodes: readonly GraphNode[], pairs: readonly Omit<DrawnLink, 'places'>[]): Map<string, number> {
  const depths = new Map(nodes.map(({ identifier }) => [identifier, 0]))
  const open = new Map(nodes.map(({ identifier }) => [identifier, 0]))
  for (const { to } of pairs) open.set(to, (open.get(to) ?? 0) + 1)
  const next = new Map<string, string[]>()
  for (const { from, to } of pairs) next.set(from, [...(next.get(from) ?? []), to])
  const ready = [...open].filter(([, count]) => count === 0).map(([name]) => name)
  for (const name of ready) {
    for (const to of next.get(name) ?? []) {
      depths.set(to, Math.max(depths.get(to) ?? 0, (depths.get(name) ?? 0) + 1))
      const left = (open.get(to) ?? 1) - 1
      open.set(to, left)
      if (left === 0) ready.push(to)
    }
  }
  for (const [name, left] of open) if (left > 0) depths.set(name, 0)
  return depths
}

/** Gives the items of a column their rows: as near as possible to what comes before them. */
function orderColumn(column: readonly Item[]): void {
  const wanted = column.map((item, index) => {
    const { before } = item
    const rows = before.reduce((sum, { row }) => sum + row, 0)
    return { item, row: before.length === 0 ? index : rows / before.length }
  })
  let least = 0
  for (const { item, row } of wanted.sort((one, other) => one.row - other.row)) {
    item.row = Math.max(least, Math.floor(row))
    least = item.row + 1
  }
}
