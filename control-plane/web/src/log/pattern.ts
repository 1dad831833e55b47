import { MATCHER_ADDRESS } from '../live/address.js'
import { trusted } from '../live/trusted.js'
import type { Span } from './find.js'
import type { MatchedLines, PatternAnswer, PatternQuestion } from './pattern-worker.js'

/** One answer may take so many milliseconds. It is about 1 MiB of output. */
const MAX_MS = 3_000
/** Texts whose matches are kept. */
const MAX_TEXTS = 500

/** A pattern took too long. It is never used again. */
export class SlowPattern extends Error {}

/**
 * A regular expression at work in a worker. Every answer has its time. When one takes longer, the worker is ended with the
 * pattern, and `isSlow` holds from then on.
 */
export class PatternMatcher {
  readonly #pattern: string
  readonly #flags: string
  readonly #onChange: () => void
  #worker: Worker | null = null
  #waiting = new Map<number, (answer: PatternAnswer | null) => void>()
  #last = 0
  #isSlow = false
  readonly #known = new Map<string, readonly Span[]>()
  #wanted = new Set<string>()
  #isAsking = false

  /** @param onChange marks came, or the pattern was too slow */
  constructor(pattern: string, matchCase: boolean, onChange: () => void) {
    this.#pattern = pattern
    this.#flags = matchCase ? '' : 'i'
    this.#onChange = onChange
  }

  get isSlow() {
    return this.#isSlow
  }

  /** @throws SlowPattern */
  async lines(bytes: Uint8Array, isInside: boolean, isEnd: boolean): Promise<MatchedLines> {
    const answer = await this.#ask({ bytes, isInside, isEnd })
    if (!('lines' in answer)) throw new SlowPattern()
    return answer
  }

  /** The places of the pattern in a text, as far as they are known. Others are asked for. */
  spansOf(text: string): readonly Span[] {
    const known = this.#known.get(text)
    if (known) return known
    if (!this.#isSlow && text !== '') {
      this.#wanted.add(text)
      void this.#askForSpans()
    }
    return []
  }

  stop() {
    this.#end()
  }

  async #askForSpans(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    // The texts of one paint are asked for together.
    await Promise.resolve()
    const texts = [...this.#wanted]
    this.#wanted = new Set()
    try {
      const answer = await this.#ask({ texts })
      if (!('spans' in answer)) return
      if (this.#known.size > MAX_TEXTS) this.#known.clear()
      for (const [place, text] of texts.entries()) this.#known.set(text, answer.spans[place] ?? [])
      this.#onChange()
    } catch {
      // Slow or stopped: nothing is marked.
    } finally {
      this.#isAsking = false
    }
  }

  #ask(question: Omit<PatternQuestion, 'id' | 'pattern' | 'flags'>): Promise<PatternAnswer> {
    if (this.#isSlow) return Promise.reject(new SlowPattern())
    const id = (this.#last += 1)
    const worker = (this.#worker ??= this.#start())
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#isSlow = true
        this.#end()
        this.#onChange()
      }, MAX_MS)
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer)
        if (answer) resolve(answer)
        else reject(new SlowPattern())
      })
      worker.postMessage({ id, pattern: this.#pattern, flags: this.#flags, ...question })
    })
  }

  #start(): Worker {
    const worker = new Worker(trusted.createScriptURL(MATCHER_ADDRESS), { type: 'module', name: 'holdfast-matcher' })
    worker.addEventListener('message', ({ data }: MessageEvent<PatternAnswer>) => {
      this.#waiting.get(data.id)?.(data)
      this.#waiting.delete(data.id)
    })
    return worker
  }

  #end(): void {
    this.#worker?.terminate()
    this.#worker = null
    for (const settle of this.#waiting.values()) settle(null)
    this.#waiting.clear()
  }
}
