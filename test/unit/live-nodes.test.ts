import { expect, test } from 'vitest'
import { composeLive } from '../../control-plane/src/live/live-events.js'
import type { Bus } from '../../control-plane/src/nodes/bus.js'
import type { Nodes } from '../../control-plane/src/nodes/nodes.js'

type BusMessage = Parameters<Bus['publish']>[0]

test('when a node dies or comes back, everybody looks at the runners and the jobs again, at every node', () => {
  const published: BusMessage[] = []
  let change: () => void = () => undefined
  const nodes = {
    bus: {
      publish: (message: BusMessage) => void published.push(message),
      subscribe: () => () => undefined,
      close: () => Promise.resolve(),
    },
    onChange: (listener: () => void) => void (change = listener),
    onWentBack: () => undefined,
  }
  const live = composeLive(nodes as unknown as Nodes)
  const heard: string[] = []
  live.subscribe((name) => void heard.push(name))
  expect(heard).toEqual([])
  change()
  expect(heard.toSorted()).toEqual(['jobs', 'runners'])
  expect(published).toHaveLength(2)
  expect(published).toEqual(expect.arrayContaining(heard.map((name) => ({ topic: 'live', name }))))
})
