import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type GraphNode, layOut } from '../../../control-plane/web/src/grid/graph-layout.js'

const node = (identifier: string, links: Partial<GraphNode['links']> = {}): GraphNode => ({
  identifier,
  links: { success: [], failure: [], always: [], ...links },
})

test('each node stands to the right of what comes before it, and the nodes of a chain in one row', () => {
  const { places, columns, rows } = layOut([
    node('build', { success: ['test'], failure: ['tell'] }),
    node('test', { success: ['live'], failure: ['tell'] }),
    node('live'),
    node('tell'),
  ])
  expect(Object.fromEntries(places)).toEqual({
    build: { column: 0, row: 0 },
    test: { column: 1, row: 0 },
    live: { column: 2, row: 0 },
    tell: { column: 2, row: 1 },
  })
  expect([columns, rows]).toEqual([3, 2])
})

test('a link that passes a column has a place of its own there', () => {
  const { links } = layOut([node('a', { success: ['b'], failure: ['c'] }), node('b', { always: ['c'] }), node('c')])
  expect(links.find(({ from, to }) => from === 'a' && to === 'c')).toEqual({
    from: 'a',
    to: 'c',
    when: 'failure',
    places: [
      { column: 0, row: 0 },
      { column: 1, row: 1 },
      { column: 2, row: 0 },
    ],
  })
})

test('no two nodes have one place, every link goes to the right, and none runs through a node', () => {
  const graph = fc
    .array(fc.array(fc.tuple(fc.nat(30), fc.constantFrom('success', 'failure', 'always')), { maxLength: 4 }), {
      maxLength: 30,
    })
    .map((all) =>
      all.map((wanted, index) => {
        // Only to later nodes, so that there is no circle.
        const to = (kind: string) =>
          wanted
            .filter(([, when]) => when === kind)
            .flatMap(([step]) => (index + step + 1 < all.length ? [`n${index + step + 1}`] : []))
        return node(`n${index}`, { success: to('success'), failure: to('failure'), always: to('always') })
      }),
    )
  fc.assert(
    fc.property(graph, (nodes) => {
      const { places, links, columns, rows } = layOut(nodes)
      const taken = new Set([...places.values()].map(({ column, row }) => `${column}/${row}`))
      expect(taken.size).toBe(nodes.length)
      for (const { column, row } of places.values()) expect(column < columns && row < rows).toBe(true)
      for (const link of links) {
        const passed = link.places.slice(1, -1)
        expect(passed.filter(({ column, row }) => taken.has(`${column}/${row}`))).toEqual([])
        expect(
          link.places.every(({ column }, at) => at === 0 || column === (link.places[at - 1]?.column ?? 0) + 1),
        ).toBe(true)
        expect([link.places[0], link.places.at(-1)]).toEqual([places.get(link.from), places.get(link.to)])
      }
    }),
  )
})
