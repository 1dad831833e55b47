import type { Nodes } from '../nodes/nodes.js'
import { type LiveEvents, createLiveEvents } from './live-events.js'

/** Makes what tells the open streams of every node that something changed. */
export function composeLive(nodes: Nodes): LiveEvents {
  const live = createLiveEvents(nodes.bus)
  // The runners of a node that died are offline, and their jobs are not connected, until another node has their sockets.
  nodes.onChange(() => {
    live.changed('runners')
    live.changed('jobs')
  })
  return live
}
