import { type Bus, SILENT_BUS } from '../nodes/bus.js'
import type { Nodes } from '../nodes/nodes.js'

/** What can change while a client shows it. */
export const LIVE_NAMES = ['jobs', 'appearance', 'designer', 'runners'] as const
/** One of {@link LIVE_NAMES}. */
export type LiveName = (typeof LIVE_NAMES)[number]

/** Tells the open streams of every node that something changed. A message has only a name, never data. */
export interface LiveEvents {
  /** Call after the commit. Never throws and returns at once. */
  changed(name: LiveName): void
  /** Calls the listener at each change, of this node and of all others, until the returned function is called. */
  subscribe(listener: (name: LiveName) => void): () => void
}

/** Makes the {@link LiveEvents} of this node. When messages of other nodes may be lost, every name counts as changed. */
export function createLiveEvents(bus: Bus = SILENT_BUS): LiveEvents {
  const listeners = new Set<(name: LiveName) => void>()
  const notify = (name: LiveName) => {
    for (const listener of listeners) listener(name)
  }
  bus.subscribe({
    received(message) {
      if (message.topic !== 'live') return
      const known = LIVE_NAMES.find((name) => name === message.name)
      if (known) notify(known)
    },
    missed: () => LIVE_NAMES.forEach(notify),
  })
  return {
    changed(name) {
      notify(name)
      bus.publish({ topic: 'live', name })
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Makes what tells the open streams of every node that something changed. */
export function composeLive(nodes: Nodes): LiveEvents {
  const live = createLiveEvents(nodes.bus)
  // The runners of a node that died are offline, and their jobs are not connected, until another node has their sockets.
  nodes.onChange(() => {
    live.changed('runners')
    live.changed('jobs')
  })
  nodes.onWentBack(() => LIVE_NAMES.forEach((name) => live.changed(name)))
  return live
}
