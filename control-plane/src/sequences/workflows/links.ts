import { LINK_KINDS, type LinkKind, type WorkflowNode } from './workflow.js'

type Linked = Pick<WorkflowNode, 'identifier' | 'links'>

/** A node from which links lead to another one, and when they fire. */
export interface ParentNode {
  readonly identifier: string
  readonly kinds: ReadonlySet<LinkKind>
}

/** The parents of each node, in the order in which they are written. */
export function parentsOf(nodes: readonly Linked[]): ReadonlyMap<string, readonly ParentNode[]> {
  const parents = new Map<string, { readonly identifier: string; readonly kinds: Set<LinkKind> }[]>()
  for (const { identifier } of nodes) parents.set(identifier, [])
  for (const { identifier, links } of nodes) {
    for (const kind of LINK_KINDS) {
      for (const target of links[kind]) {
        const known = parents.get(target)
        const same = known?.find((parent) => parent.identifier === identifier)
        if (same) same.kinds.add(kind)
        else known?.push({ identifier, kinds: new Set([kind]) })
      }
    }
  }
  return parents
}

/**
 * The reason why the links of a workflow cannot be followed, and the node with the problem; null when there is none.
 */
export function problemOfLinks(nodes: readonly Linked[]): { identifier: string; reason: string } | null {
  const known = new Set(nodes.map((node) => node.identifier))
  for (const node of nodes) {
    for (const kind of LINK_KINDS) {
      for (const target of node.links[kind]) {
        const reason =
          target === node.identifier
            ? 'it is linked to itself'
            : known.has(target)
              ? null
              : `${kind}_nodes names '${target}', and there is no such node`
        if (reason !== null) return { identifier: node.identifier, reason }
      }
    }
  }
  const cycle = cycleIn(
    nodes.map((node) => node.identifier),
    new Map(nodes.map(({ identifier, links }) => [identifier, LINK_KINDS.flatMap((kind) => links[kind])])),
  )
  if (!cycle) return null
  return { identifier: cycle[0] ?? '', reason: `its links lead back to it (${cycle.join(' → ')})` }
}

/**
 * The first cycle of a graph, with its first point repeated at the end; null when there is none. It uses no recursion.
 */
export function cycleIn(points: readonly string[], next: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>()
  for (const start of points) {
    const way: { readonly point: string; readonly left: string[] }[] = []
    const onWay = new Set<string>()
    const enter = (point: string) => {
      way.push({ point, left: [...(next.get(point) ?? [])] })
      onWay.add(point)
    }
    if (!done.has(start)) enter(start)
    for (let last = way.at(-1); last !== undefined; last = way.at(-1)) {
      const point = last.left.shift()
      if (point === undefined) {
        done.add(last.point)
        onWay.delete(last.point)
        way.pop()
      } else if (onWay.has(point)) {
        const passed = way.map((step) => step.point)
        return [...passed.slice(passed.indexOf(point)), point]
      } else if (!done.has(point)) {
        enter(point)
      }
    }
  }
  return null
}
