import { ROOT } from '../support/product.js'
import { createCompiler } from './compile.js'
import { drawFrom } from './draw.js'
import { Judge } from './judge.js'
import { diffOf, roomOf } from './mutation.js'
import { type Options, readOptions, USAGE, UsageError } from './options.js'
import { createScratch } from './scratch.js'
import { type Result, summaryOf } from './summary.js'

function list(options: Options): void {
  for (const { number, mutation, text, key, refusal } of drawFrom(ROOT, createCompiler(ROOT), options)) {
    if (refusal === null) process.stdout.write(`${number}  ${diffOf(text, mutation)}\nkey: ${key}\n\n`)
  }
}

async function sample(options: Options): Promise<readonly Result[]> {
  const scratch = createScratch(ROOT)
  const results: Result[] = []
  process.once('exit', scratch.close)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  try {
    // The clone may be worked on meanwhile: all is read from the copy.
    const judge = new Judge(scratch, options)
    for (const drawn of drawFrom(scratch.root, createCompiler(scratch.root), options)) {
      const { number, mutation, text, key } = drawn
      const { outcome, note } = await judge.outcomeOf(drawn)
      results.push({ room: roomOf(mutation.path), outcome })
      const isOpen = outcome === 'survived' || outcome === 'undecided'
      const diff = isOpen ? `\n${diffOf(text, mutation)}\nkey: ${key}\n` : ''
      process.stdout.write(
        `${String(number).padEnd(5)} ${outcome.padEnd(24)} ${mutation.path}  ${mutation.kind}  ${note}${diff}\n`,
      )
    }
  } finally {
    scratch.close()
  }
  return results
}

try {
  const options = readOptions(process.argv.slice(2))
  if (options === null) process.stdout.write(USAGE)
  else if (options.isList) list(options)
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
