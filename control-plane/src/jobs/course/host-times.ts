/** From and until when, in milliseconds since the epoch. */
export type TimeSpan = readonly [from: number, to: number]

/** Most spans that are kept of a host. Then the two with the shortest pause between them become one. */
const MAX_SPANS = 40

/** When a host was at tasks, by the clock of the runner. */
export class HostTimes {
  #spans: TimeSpan[] = []
  #busyMs = 0
  /** When the host began the task at which it is; null: it is at none. */
  #since: number | null = null

  /** In the order of their time. */
  get spans(): readonly TimeSpan[] {
    return this.#spans
  }

  /** How long it was at tasks, without the pauses between them. */
  get busyMs(): number {
    return this.#busyMs
  }

  get since(): number | null {
    return this.#since
  }

  /** The host begins a task. @param time ISO 8601 */
  begin(time: string): void {
    this.#since = timeOf(time)
  }

  /** A result of the host has come. @param began when the host, or else the task, began. Both times are ISO 8601 */
  end(began: string, time: string): void {
    this.#since = null
    const [start, to] = [timeOf(began), timeOf(time)]
    if (start === null || to === null) return
    const last = this.#spans.at(-1)
    // The items of a loop and a retry have results, too. What was counted before is not counted again.
    const from = Math.max(start, last?.[1] ?? start)
    if (to < from) return
    this.#busyMs += to - from
    if (last?.[1] === from) this.#spans[this.#spans.length - 1] = [last[0], to]
    else this.#spans.push([from, to])
    if (this.#spans.length > MAX_SPANS) this.#joinNearest()
  }

  #joinNearest(): void {
    let nearest = 1
    const pauseBefore = (at: number) => (this.#spans[at]?.[0] ?? 0) - (this.#spans[at - 1]?.[1] ?? 0)
    for (let at = 2; at < this.#spans.length; at += 1) if (pauseBefore(at) < pauseBefore(nearest)) nearest = at
    const [one, other] = [this.#spans[nearest - 1], this.#spans[nearest]]
    if (one && other) this.#spans.splice(nearest - 1, 2, [one[0], other[1]])
  }
}

/** A playbook may have written the event itself, so the time may be any text. */
function timeOf(text: string): number | null {
  const time = Date.parse(text)
  return Number.isNaN(time) ? null : time
}
