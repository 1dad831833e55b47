/** The turns of long bodies. Few are handled at a time. */
export interface BodyTurns {
  /**
   * Resolves when the sender may go on.
   * @returns ends the turn; a second call does nothing
   */
  take(sender: string): Promise<() => void>
}

/**
 * Only a few long bodies are handled at the same time. The others wait as bytes. The things that are made from a body
 * (its text, its values, the copy for the check, the stored texts) need many times its bytes. So the number of bodies
 * in work limits the memory, and the waiting bytes hardly count.
 *
 * A sender has one turn at a time, in the order of the senders. So a sender with many bodies, or slow ones, only delays
 * itself, and leaves the other turns to others.
 */
export function createBodyTurns(most: number): BodyTurns {
  /** The waiting bodies by sender, in the order of the senders' turns. */
  const waiting = new Map<string, (() => void)[]>()
  const inWork = new Set<string>()

  function goOn(): void {
    for (const [sender, queue] of waiting) {
      if (inWork.size >= most) return
      if (inWork.has(sender)) continue
      const next = queue.shift()
      if (queue.length === 0) waiting.delete(sender)
      inWork.add(sender)
      next?.()
    }
  }

  function begin(sender: string): () => void {
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      inWork.delete(sender)
      const queue = waiting.get(sender)
      // A sender that had a turn goes behind the others.
      if (queue) {
        waiting.delete(sender)
        waiting.set(sender, queue)
      }
      goOn()
    }
  }

  return {
    take(sender) {
      return new Promise((resolve) => {
        const queue = waiting.get(sender) ?? []
        queue.push(() => resolve(begin(sender)))
        waiting.set(sender, queue)
        goOn()
      })
    },
  }
}
