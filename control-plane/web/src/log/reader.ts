import type { OutputSource } from '../live/output-source.js'
import { BLOCK_BYTES, type LogStore } from './store.js'

/** Most blocks of one request: the control plane answers with 1 MiB at most. */
const MAX_TOGETHER = 16

/** Most requests at a time. The browser opens six connections to a server, for all its tabs. */
const MAX_REQUESTS = 2

/** Pause after a request that failed, in milliseconds. */
const RETRY_MS = 1_000

/** Reads blocks that are to be shown. */
export interface BlockReader {
  /**
   * The blocks that are needed now. They replace those that were needed before. Neighbouring blocks are read together.
   */
  want(blocks: readonly number[]): void
  stop(): void
}

/** @param onBlocks blocks came, so lines can be shown that could not be before */
export function createBlockReader(source: OutputSource, store: LogStore, onBlocks: () => void): BlockReader {
  let wanted: readonly number[] = []
  let retry: ReturnType<typeof setTimeout> | null = null
  const coming = new Set<number>()
  const stopping = new AbortController()
  let requests = 0

  function go(): void {
    if (stopping.signal.aborted || retry !== null) return
    while (requests < MAX_REQUESTS) {
      const first = wanted.find((block) => !coming.has(block) && !store.hasBlock(block))
      if (first === undefined) return
      let count = 1
      while (count < MAX_TOGETHER && wanted.includes(first + count) && !coming.has(first + count)) count += 1
      void read(first, count)
    }
  }

  async function read(first: number, count: number): Promise<void> {
    requests += 1
    for (let block = first; block < first + count; block += 1) coming.add(block)
    const { generation } = store
    try {
      const part = await source.part(first * BLOCK_BYTES, count * BLOCK_BYTES, stopping.signal)
      // These bytes belong to another generation than those that were asked for. The follower notices that by itself.
      if (store.generation === generation && part.generation === generation) store.fill(first * BLOCK_BYTES, part.bytes)
      else wanted = []
    } catch {
      // The follower tells what is wrong. The reader only tries again, as long as the lines are needed.
      retry ??= setTimeout(() => {
        retry = null
        go()
      }, RETRY_MS)
    } finally {
      requests -= 1
      for (let block = first; block < first + count; block += 1) coming.delete(block)
    }
    if (stopping.signal.aborted) return
    onBlocks()
    go()
  }

  return {
    want(blocks) {
      wanted = blocks
      go()
    },
    stop() {
      stopping.abort()
      if (retry !== null) clearTimeout(retry)
    },
  }
}
