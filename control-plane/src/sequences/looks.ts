import type { Turn } from './advance.js'

/** A look at one parent job that is under way. */
interface Look {
  /** True when somebody asked for one more look meanwhile. */
  isAgain: boolean
  done: Promise<void>
}

/**
 * The looks at parent jobs that are under way: at most one at each parent job. A caller that asks for a look during
 * another look gets one more look after it.
 */
export class Looks {
  private readonly underWay = new Map<number, Look>()
  private isStopped = false

  /**
   * @param takeStep moves a parent job on by one step
   * @param failed told when a parent job could not be moved on
   */
  constructor(
    private readonly takeStep: (jobId: number) => Promise<Turn>,
    private readonly failed: (jobId: number, error: unknown) => void,
  ) {}

  /** True as soon as no look begins any more. */
  get isClosed(): boolean {
    return this.isStopped
  }

  /** Looks at a parent job without waiting for it. */
  begin(jobId: number): void {
    if (!this.isStopped) void this.look(jobId)
  }

  /** Looks at a parent job as long as it can be moved on. Never rejects. */
  look(jobId: number): Promise<void> {
    const current = this.underWay.get(jobId)
    if (current) {
      current.isAgain = true
      return current.done
    }
    const entry = { isAgain: false, done: Promise.resolve() }
    this.underWay.set(jobId, entry)
    entry.done = this.moveOn(jobId, entry)
      .catch((error: unknown) => this.failed(jobId, error))
      .finally(() => this.underWay.delete(jobId))
    return entry.done
  }

  /** From now on no look begins, and those that are under way end after their step. */
  stop(): void {
    this.isStopped = true
  }

  /** Resolves when the looks that are under way are done. */
  async allDone(): Promise<void> {
    await Promise.all([...this.underWay.values()].map(({ done }) => done))
  }

  private async moveOn(jobId: number, entry: Look): Promise<void> {
    for (;;) {
      entry.isAgain = false
      const turn = await this.takeStep(jobId)
      for (const other of turn.others) this.begin(other)
      if (this.isStopped || (turn.result === 'rest' && !entry.isAgain)) return
    }
  }
}
