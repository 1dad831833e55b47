import type { Post, PostListener } from '../../control-plane/src/nodes/bus.js'

/** Carries letters between the nodes of one process, as PostgreSQL does between processes. */
export interface PostOffice {
  openPost(listener: PostListener): Post
  /** Nothing is carried any more, and nobody is told; letters are refused. */
  cut(): void
  /** Everybody is connected anew. */
  mend(): void
  /** Every letter that was carried. */
  readonly letters: string[]
}

export function createPostOffice(): PostOffice {
  const listeners = new Set<PostListener>()
  const letters: string[] = []
  let isCut = false
  return {
    letters,
    openPost(listener) {
      listeners.add(listener)
      return {
        send(letter) {
          if (isCut) return Promise.reject(new Error('the post is cut'))
          letters.push(letter)
          // As with PostgreSQL, whoever sends a letter gets it too.
          queueMicrotask(() => listeners.forEach((one) => one.arrived(letter)))
          return Promise.resolve()
        },
        close() {
          listeners.delete(listener)
          return Promise.resolve()
        },
      }
    },
    cut() {
      isCut = true
    },
    mend() {
      isCut = false
      for (const listener of listeners) listener.connected()
    },
  }
}
