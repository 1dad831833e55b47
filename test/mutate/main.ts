import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createChance } from '../chaos/kit/seed.js'
import { ROOT } from '../support/product.js'
import { type Compiler, createCompiler } from './compile.js'
import { diffOf, keyOf, type Mutation, roomOf } from './mutation.js'
import { testsFor } from './nearness.js'
import { type Options, readOptions, USAGE, UsageError } from './options.js'
import { canHaveNamespace, runTests, type Verdict } from './run-tests.js'
import { createScratch, type Scratch } from './scratch.js'
import { mutationsOf } from './sources.js'
import { type Outcome, type Result, summaryOf } from './summary.js'

/** Test files at most. */
const MOST = { near: 8, wide: 12 }

/** Mutated, this ends processes by a list: never without a namespace of processes around it. */
const ENDS_PROCESSES = /process-tree|processes|users|isolation/

interface Listed {
  readonly key: string
  readonly reason: string
}

class Judge {
  readonly #listed: ReadonlyMap<string, string>
  /** Test files by whether they pass without any mutation, on this machine now. */
  readonly #sound = new Map<string, boolean>()
  readonly #hasNamespace = canHaveNamespace()

  constructor(
    private readonly scratch: Scratch,
    private readonly compiler: Compiler,
    private readonly options: Options,
  ) {
    const list = readFileSync(join(ROOT, 'test/mutate/without-effect.json'), 'utf8')
    this.#listed = new Map((JSON.parse(list) as Listed[]).map(({ key, reason }) => [key, reason]))
  }

  async outcomeOf(mutation: Mutation, key: string): Promise<{ outcome: Outcome; note: string }> {
    const reason = this.#listed.get(key)
    if (reason !== undefined) return { outcome: 'without effect', note: reason }
    const refusal = this.compiler.refusal(mutation)
    if (refusal !== null) return { outcome: 'refused by the compiler', note: refusal }
    if (!this.#hasNamespace && ENDS_PROCESSES.test(mutation.path)) {
      return { outcome: 'undecided', note: 'it may end processes of others: there is no namespace for it here' }
    }
    const { near, wide } = testsFor(this.scratch.root, mutation.path, MOST)
    const first = await this.#run(mutation, near, this.options.nearSeconds)
    if (first.kind !== 'passed') return judged(first, 'near')
    const second = await this.#run(mutation, wide, this.options.wideSeconds)
    return judged(second, 'wide')
  }

  /** A test that fails without the mutation, too, proves nothing: the run goes on without its file. */
  async #run(mutation: Mutation, files: readonly string[], seconds: number): Promise<Verdict> {
    const usable = files.filter((file) => this.#sound.get(file) !== false)
    const takeBack = this.scratch.apply(mutation)
    const verdict = await runTests(this.scratch.root, usable, seconds * 1000).finally(takeBack)
    if (verdict.kind !== 'failed') return verdict
    const unsound: string[] = []
    for (const name of verdict.failed) {
      const file = name.slice(this.scratch.root.length + 1)
      const sound = this.#sound.get(file) ?? (await this.#passes(file))
      this.#sound.set(file, sound)
      if (!sound) unsound.push(file)
    }
    if (unsound.length === 0 || unsound.length < verdict.failed.length) return verdict
    return this.#run(mutation, usable, seconds)
  }

  async #passes(file: string): Promise<boolean> {
    return (await runTests(this.scratch.root, [file], this.options.wideSeconds * 1000)).kind === 'passed'
  }
}

function judged(verdict: Verdict, where: 'near' | 'wide'): { outcome: Outcome; note: string } {
  if (verdict.kind === 'passed') return { outcome: 'survived', note: '' }
  if (verdict.kind === 'failed') return { outcome: 'killed', note: `${where}: ${verdict.failed.length} file(s)` }
  // What the wide tests would say is not known; nobody has noticed it until then.
  return where === 'near' ? { outcome: 'undecided', note: 'no time' } : { outcome: 'survived', note: 'wide: no time' }
}

async function sample(options: Options): Promise<readonly Result[]> {
  const scratch = createScratch(ROOT)
  const results: Result[] = []
  process.once('exit', scratch.close)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  try {
    // The clone may be worked on meanwhile: all is read from the copy.
    const { root } = scratch
    const all = mutationsOf(root).filter(({ path }) => options.room === null || roomOf(path).startsWith(options.room))
    const judge = new Judge(scratch, createCompiler(root), options)
    for (const mutation of createChance(options.seed).shuffle(all)) {
      if (results.filter(({ outcome }) => outcome !== 'refused by the compiler').length >= options.count) break
      const text = readFileSync(join(root, mutation.path), 'utf8')
      const key = keyOf(text, mutation)
      const { outcome, note } = await judge.outcomeOf(mutation, key)
      results.push({ room: roomOf(mutation.path), outcome })
      const diff = outcome === 'survived' ? `\n${diffOf(text, mutation)}\nkey: ${key}\n` : ''
      process.stdout.write(`${outcome.padEnd(24)} ${mutation.path}  ${mutation.kind}  ${note}${diff}\n`)
    }
  } finally {
    scratch.close()
  }
  return results
}

try {
  const options = readOptions(process.argv.slice(2))
  if (options === null) process.stdout.write(USAGE)
  else {
    const results = await sample(options)
    process.stdout.write(`\n${summaryOf(results)}\n`)
    if (results.some(({ outcome }) => outcome === 'survived')) process.exitCode = 1
  }
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n${USAGE}`)
  process.exitCode = 2
}
