/**
 * Those for whom one piece of work is done, by their keys. Work that several callers share belongs to all of them: it
 * begins as soon as one of them has a turn.
 */
export type Callers = ReturnType<typeof createCallers>

/** Makes {@link Callers} of one caller. */
export function createCallers(first: string) {
  const keys = new Set([first])
  const watching = new Set<() => void>()
  const tell = () => {
    for (const changed of watching) changed()
  }
  return {
    keys,
    join(caller: string): void {
      if (keys.has(caller)) return
      keys.add(caller)
      tell()
    },
    /** The last caller stays, because every piece of work has one. */
    leave(caller: string): void {
      if (keys.size === 1 || !keys.delete(caller)) return
      tell()
    },
    /** Calls `changed` after each change. Returns a function that ends this. */
    watch(changed: () => void): () => void {
      watching.add(changed)
      return () => watching.delete(changed)
    },
  }
}
