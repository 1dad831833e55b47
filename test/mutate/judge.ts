import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/product.js'
import type { Drawn } from './draw.js'
import type { Mutation } from './mutation.js'
import { testsFor } from './nearness.js'
import type { Options } from './options.js'
import { canHaveNamespace, type Failure, isDoubtful, type Limits, runTests, type Verdict } from './run-tests.js'
import type { Scratch } from './scratch.js'
import type { Outcome } from './summary.js'

/** Near test files at most. */
const MAX_NEAR = 8

/** Mutated, this ends processes by a list: never without a namespace of processes around it. */
const ENDS_PROCESSES = /process-tree|processes|users|isolation/

interface Listed {
  readonly key: string
  readonly reason: string
}

/** Decides what becomes of a mutation: by the list, the compiler, the near tests and then the wide ones. */
export class Judge {
  readonly #listed: ReadonlyMap<string, string>
  /** Test files by whether they pass without any mutation, on this machine now. */
  readonly #sound = new Map<string, boolean>()
  readonly #hasNamespace = canHaveNamespace()

  constructor(
    private readonly scratch: Scratch,
    private readonly options: Options,
  ) {
    const list = readFileSync(join(ROOT, 'test/mutate/without-effect.json'), 'utf8')
    this.#listed = new Map((JSON.parse(list) as Listed[]).map(({ key, reason }) => [key, reason]))
  }

  async outcomeOf({ mutation, key, refusal }: Drawn): Promise<{ outcome: Outcome; note: string }> {
    const reason = this.#listed.get(key)
    if (reason !== undefined) return { outcome: 'without effect', note: reason }
    if (refusal !== null) return { outcome: 'refused by the compiler', note: refusal }
    if (!this.#hasNamespace && ENDS_PROCESSES.test(mutation.path)) {
      return { outcome: 'undecided', note: 'it may end processes of others: there is no namespace for it here' }
    }
    const { near, wide } = testsFor(this.scratch.root, mutation.path, MAX_NEAR)
    const first = await this.#run(mutation, near, this.options.nearSeconds)
    if (first.kind !== 'passed') return judged(first, 'near')
    const second = await this.#run(mutation, wide, this.options.wideSeconds)
    return judged(second, 'wide')
  }

  /** A test that fails without the mutation, too, proves nothing: the run goes on without its file. */
  async #run(mutation: Mutation, files: readonly string[], seconds: number): Promise<Verdict> {
    const usable = files.filter((file) => this.#sound.get(file) !== false)
    const verdict = await this.#mutated(mutation, usable, seconds)
    if (verdict.kind !== 'failed') return verdict
    const failed = verdict.failed.map(({ file }) => file)
    if (isDoubtful(verdict.failed)) return this.#again(mutation, failed.length > 0 ? failed : usable, seconds)
    const unsound: string[] = []
    for (const file of failed) {
      const sound = this.#sound.get(file) ?? (await this.#passes([file]))
      this.#sound.set(file, sound)
      if (!sound) unsound.push(file)
    }
    if (unsound.length < failed.length) return verdict
    return this.#run(mutation, usable, seconds)
  }

  /** What only time decided counts when the same files pass now without the mutation, and then fail with it once more. */
  async #again(mutation: Mutation, files: readonly string[], seconds: number): Promise<Verdict> {
    if (!(await this.#passes(files))) return { kind: 'out of time' }
    const verdict = await this.#mutated(mutation, files, seconds)
    return verdict.kind === 'failed' ? verdict : { kind: 'out of time' }
  }

  #mutated(mutation: Mutation, files: readonly string[], seconds: number): Promise<Verdict> {
    const takeBack = this.scratch.apply(mutation)
    return runTests(this.scratch.root, files, this.#within(seconds)).finally(takeBack)
  }

  async #passes(files: readonly string[]): Promise<boolean> {
    const { nearSeconds, wideSeconds } = this.options
    return (await runTests(this.scratch.root, files, this.#within(nearSeconds + wideSeconds))).kind === 'passed'
  }

  #within(seconds: number): Limits {
    return { limitMs: seconds * 1000, nice: this.options.nice }
  }
}

function judged(verdict: Verdict, where: 'near' | 'wide'): { outcome: Outcome; note: string } {
  if (verdict.kind === 'passed') return { outcome: 'survived', note: '' }
  if (verdict.kind === 'failed') return { outcome: 'killed', note: `${where}: ${shown(verdict.failed)}` }
  // What the wide tests would say is not known; nobody has noticed it until then.
  return where === 'near' ? { outcome: 'undecided', note: 'no time' } : { outcome: 'survived', note: 'wide: no time' }
}

/** Which tests noticed, and by what. */
function shown(failed: readonly Failure[]): string {
  if (failed.length === 0) return 'the run broke down'
  return failed.map(({ file, said }) => `${file} (${said[0]?.split('\n')[0]?.slice(0, 100) ?? ''})`).join(', ')
}
