import { type FuzzOptions, USAGE, readOptions } from './options.js'
import { faultText, gaps, lastLine, neverSucceeded } from './report.js'
import { PATIENCE } from './wire.js'

const INTERRUPTED = 130

/** Requests for each operation after which all of them must have succeeded. */
const ENOUGH = 200

const say = (line: string): void => void process.stderr.write(`${line}\n`)
const sayError = (error: unknown): void => say(`fuzz: ${error instanceof Error ? error.message : String(error)}`)

function optionsOrUsage(): FuzzOptions | null {
  try {
    const options = readOptions(process.argv.slice(2), Math.random)
    if (options === null) process.stdout.write(USAGE)
    return options
  } catch (error) {
    sayError(error)
    say('See: scripts/fuzz --help')
    process.exitCode = 2
    return null
  }
}

/** Reads random texts. The last line says what came of them. */
async function readRandomTexts(seed: number, { count, from }: NonNullable<FuzzOptions['texts']>): Promise<number> {
  say(`seed ${seed}`)
  const { readTexts } = await import('./texts/run-texts.js')
  const { came, slowest, peakMb } = await readTexts(seed, from, from + count - 1)
  const ends = Object.entries(came).sort(([one], [other]) => one.localeCompare(other))
  const tally = ends.map(([end, number]) => `${end} ${number}`).join(', ')
  const most = `slowest text ${slowest.number} took ${slowest.ms.toFixed(0)} ms, most memory ${peakMb.toFixed(0)} MB`
  process.stdout.write(`fuzz: seed ${seed}: ${count} texts (${tally}); ${most}: no fault\n`)
  return 0
}

async function main(options: FuzzOptions): Promise<number> {
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort())
  say(`seed ${options.seed}`)
  // Only now: the help is there without the product.
  const { startRealTarget, stopControlPlane } = await import('./real-target.js')
  const { fuzz } = await import('./run.js')
  const { target, product } = await startRealTarget()
  let keep = true
  try {
    const run = await fuzz(target, options, interruption.signal, say, PATIENCE)
    target.live?.close()
    const problems = await stopControlPlane(product, PATIENCE.deadMs)
    const late = problems.length > 0 ? [{ number: run.sent, request: null, problems }] : []
    const findings = { ...run, faults: [...run.faults, ...late] }
    const isLate = options.liveLimitMs !== null && (run.live?.worst ?? Infinity) > options.liveLimitMs
    for (const line of gaps(findings)) say(line)
    for (const fault of findings.faults) say(faultText(fault, options.seed, target.folder))
    const isEnough = findings.sent >= ENOUGH * target.operations.length
    const isGood = findings.faults.length === 0 && !(isEnough && neverSucceeded(findings.coverage).length > 0)
    keep = options.keep || !isGood
    process.stdout.write(`${lastLine(findings, options.seed)}\n`)
    if (interruption.signal.aborted) return INTERRUPTED
    if (isLate) say(`an answer of /live took longer than ${options.liveLimitMs} ms`)
    return isGood && !isLate ? 0 : 1
  } catch (error) {
    sayError(error)
    await product.controlPlane.stop('SIGKILL')
    // Whoever interrupts at a terminal interrupts the programs, too.
    return interruption.signal.aborted ? INTERRUPTED : 1
  } finally {
    target.live?.close()
    if (keep) say(`kept: ${target.folder}`)
    await product.close({ keep })
  }
}

const options = optionsOrUsage()
if (options) {
  process.exit(
    await (options.texts ? readRandomTexts(options.seed, options.texts) : main(options)).catch((error: unknown) => {
      sayError(error)
      return 1
    }),
  )
}
