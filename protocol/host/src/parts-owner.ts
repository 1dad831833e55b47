/** Who closes the parts of a program. */
export type PartsOwner = ReturnType<typeof createPartsOwner>

/** An owner of no parts yet. */
export function createPartsOwner() {
  const opened: (() => unknown)[] = []
  let isClosing = false
  /** What is being closed now. Null: nothing. */
  let closing: Promise<void> | null = null
  const closeAll = async (): Promise<void> => {
    const problems: unknown[] = []
    for (const close of opened.splice(0).reverse()) {
      try {
        await close()
      } catch (error) {
        problems.push(error)
      }
    }
    if (problems.length > 0) throw problems[0]
  }
  const closeAfter = async (before: Promise<void>): Promise<void> => {
    try {
      await before
    } finally {
      await closeAll()
    }
  }
  return {
    /** Closes a part when the program closes. The part that was opened last is closed first. */
    onClose: (close: () => unknown): void => void opened.push(close),
    /** True from the moment on when the parts are being closed. */
    get isClosing(): boolean {
      return isClosing
    },
    /**
     * Closes every part once, in the reverse order of opening. So no part loses another part that it still needs. A
     * later call closes what was opened since. If an earlier call has not ended, the later one waits for it, and throws
     * its error.
     * @throws the first error of a part, after all others were closed
     */
    close(): Promise<void> {
      isClosing = true
      const mine = closing === null ? closeAll() : closeAfter(closing)
      closing = mine
      const end = (): void => {
        if (closing === mine) closing = null
      }
      mine.then(end, end)
      return mine
    },
  }
}
