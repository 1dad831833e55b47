import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../support/product.js'
import { type Copy, createCopy } from './copy.js'
import { type Regression, readRegressions } from './regression.js'
import { type Verdict, runTest } from './run-test.js'

const USAGE = `Usage: scripts/regressions [--list] [--tests FILE,FILE] [--unpatched] [NAME...]

Puts known regressions into a copy of the product, one at a time, and runs the tests that should find them. A regression
is a patch of test/regressions. Its head says what the developer did, what a user would notice, and which tests fail with
it (found-by). Nothing of this clone is changed, and the copy is removed afterwards.

  NAME...            only these regressions, in place of all
  --list             prints the regressions and runs nothing
  --tests FILE,FILE  runs these test files in place of those of found-by
  --unpatched        runs the tests of these regressions once, without any patch: all of them should pass

Each regression is found, NOT FOUND, found by some of its tests only, or it does not apply or build any more. A regression
with found-by: none is known to be found by no test, and is only counted.
Exit code 0 if all were found by all their tests, 1 if not, 2 for wrong arguments.
`

/** The arguments cannot be understood. */
class UsageError extends Error {
  override readonly name = 'UsageError'
}

interface Options {
  readonly chosen: readonly Regression[]
  readonly isList: boolean
  readonly isUnpatched: boolean
  /** The test files for all regressions; null: those that each names. */
  readonly tests: readonly string[] | null
}

/** @returns null when help was asked for @throws UsageError */
function readOptions(args: readonly string[]): Options | null {
  let given
  try {
    given = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        list: { type: 'boolean' },
        unpatched: { type: 'boolean' },
        tests: { type: 'string' },
      },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
  const { values, positionals } = given
  if (values.help) return null
  const all = readRegressions(join(ROOT, 'test/regressions'))
  const unknown = positionals.find((name) => !all.some((one) => one.name === name))
  if (unknown !== undefined) throw new UsageError(`there is no regression ${unknown}; --list names all`)
  const tests = values.tests?.split(',') ?? null
  const absent = tests?.find((file) => !existsSync(join(ROOT, file)))
  if (absent !== undefined) throw new UsageError(`there is no test file ${absent}`)
  const chosen = positionals.length === 0 ? all : all.filter(({ name }) => positionals.includes(name))
  return { chosen, tests, isList: values.list ?? false, isUnpatched: values.unpatched ?? false }
}

/** The copy of the present regression, so that a signal does not leave it behind. */
let copy: Copy | null = null

function removeCopy(): void {
  copy?.remove()
  copy = null
}

type Outcome = 'found' | 'found by some' | 'NOT FOUND' | 'known as not found' | 'does not apply' | 'does not build'

/** Runs test files one after the other. @returns those that ended in this way */
async function endedAs(kind: Verdict['kind'], made: Copy, files: readonly string[]): Promise<string[]> {
  const ended: string[] = []
  for (const file of files) {
    const began = Date.now()
    const verdict = await runTest(made, file)
    if (verdict.kind === kind) ended.push(file)
    const said = verdict.kind === 'failed' ? ` (${verdict.said.slice(0, 300)})` : ''
    process.stdout.write(`    ${verdict.kind}: ${file} in ${seconds(began)} s${said}\n`)
  }
  return ended
}

async function outcomeOf(regression: Regression, tests: readonly string[] | null): Promise<Outcome> {
  const files = tests ?? regression.foundBy
  if (files.length === 0) return 'known as not found'
  copy = createCopy(ROOT)
  try {
    const refused = copy.apply(regression.path)
    if (refused !== null) return said('does not apply', refused)
    const broken = copy.build()
    if (broken !== null) return said('does not build', broken)
    const failed = await endedAs('failed', copy, files)
    return failed.length === files.length ? 'found' : failed.length > 0 ? 'found by some' : 'NOT FOUND'
  } finally {
    removeCopy()
  }
}

function said(outcome: Outcome, why: string): Outcome {
  process.stdout.write(`${why.replace(/^/gm, '    ')}\n`)
  return outcome
}

async function tryAll({ chosen, tests }: Options): Promise<boolean> {
  const counts = new Map<Outcome, number>()
  for (const regression of chosen) {
    const began = Date.now()
    process.stdout.write(`${regression.name}  (${regression.room})\n`)
    const outcome = await outcomeOf(regression, tests)
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
    process.stdout.write(`  ${outcome}, ${seconds(began)} s\n`)
  }
  const summary = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ')
  process.stdout.write(`\n${chosen.length} regressions: ${summary || 'none'}\n`)
  return [...counts.keys()].every((outcome) => outcome === 'found' || outcome === 'known as not found')
}

/** Runs the tests of regressions without a patch. @returns whether all passed */
async function runUnpatched({ chosen, tests }: Options): Promise<boolean> {
  const files = tests ?? [...new Set(chosen.flatMap(({ foundBy }) => foundBy))].sort()
  copy = createCopy(ROOT)
  try {
    const broken = copy.build()
    if (broken !== null) throw new Error(`the product does not build:\n${broken}`)
    const passed = await endedAs('passed', copy, files)
    process.stdout.write(`\n${files.length} test files: ${passed.length} passed\n`)
    return passed.length === files.length
  } finally {
    removeCopy()
  }
}

function list(regressions: readonly Regression[]): void {
  for (const { name, room, did, noticed, foundBy, whyNot } of regressions) {
    const found = foundBy.length > 0 ? foundBy.join(', ') : `no test, because ${whyNot ?? ''}`
    process.stdout.write(`${name}  (${room})\n  ${did}\n  ${noticed}\n  found by ${found}\n\n`)
  }
  process.stdout.write(`${regressions.length} regressions\n`)
}

function seconds(began: number): number {
  return Math.round((Date.now() - began) / 1000)
}

process.once('exit', removeCopy)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
try {
  const options = readOptions(process.argv.slice(2))
  if (options === null) process.stdout.write(USAGE)
  else if (options.isList) list(options.chosen)
  else {
    const isGood = options.isUnpatched ? await runUnpatched(options) : await tryAll(options)
    if (!isGood) process.exitCode = 1
  }
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n${USAGE}`)
  process.exitCode = 2
}
