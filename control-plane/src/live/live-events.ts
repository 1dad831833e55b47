/** What can change under a client's eyes (service interface, Events). */
export const LIVE_NAMES = ['jobs', 'appearance', 'designer', 'runners'] as const
export type LiveName = (typeof LIVE_NAMES)[number]

/** Carries "something changed" from the rooms to the open streams of this node. Names only, never data. */
export interface LiveEvents {
  /** Call after the commit. Never throws and returns at once. */
  changed(name: LiveName): void
  /** Calls the listener on each change until the returned function is called. */
  subscribe(listener: (name: LiveName) => void): () => void
}

export function createLiveEvents(): LiveEvents {
  const listeners = new Set<(name: LiveName) => void>()
  return {
    changed(name) {
      for (const listener of listeners) listener(name)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
