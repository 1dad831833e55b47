import type { Nodes } from '../nodes/nodes.js'
import { type LiveEvents, createLiveEvents } from './live-events.js'

/** What tells the open streams of every node that something changed. */
export function composeLive(nodes: Nodes): LiveEvents {
  const live = createLiveEvents(nodes.bus)
  // Runners of a node that died are not online, and jobs not connected, until another node has their sockets.
  nodes.onChange(() => {
    live.changed('runners')
    live.changed('jobs')
  })
  return live
}
