import { createRequire } from 'node:module'
import { readFile } from 'node:fs/promises'
import { parentPort } from 'node:worker_threads'
import { loadJq } from 'jq-wasm'
import { messageOf } from '../errors.js'
import { MAX_LEVELS, isDeeperThan } from '../texts/value-levels.js'
import type { JqOrder, JqReport } from './jq-thread.js'

/** Most characters of the results. */
const MAX_RESULT_LENGTH = 8 * 1024 * 1024

/** Functions that forms of the product family call in filters: they convert bytes, and round numbers. */
const DEFINITIONS = [
  'def fn2KB: . / 1024;',
  'def fn2MB: . / 1048576;',
  'def fn2GB: . / 1073741824;',
  'def fnRound0: . + 0.5 | floor;',
  'def fnRound1: (. * 10 + 0.5 | floor) / 10;',
  'def fnRound2: (. * 100 + 0.5 | floor) / 100;',
  'def fnRound: fnRound2;',
].join(' ')

/** Functions of jq 1.7 that jq 1.8 no longer has. */
const DROPPED = [
  'def leaf_paths: paths(scalars);',
  'def pow10: pow(10; .);',
  'def date: todate;',
  'def dateadd(u; n): . + n;',
  'def datesub(u; n): . - n;',
].join(' ')

const port = parentPort
if (!port) throw new Error('this file is run as a worker')
const report = (message: JqReport) => port.postMessage(message)

/**
 * The real jq, as WebAssembly: it has no files, no network, none of the environment of the service, and a memory of
 * 256 MiB at most.
 */
const load = async () =>
  loadJq({ wasmBinary: await readFile(createRequire(import.meta.url).resolve('jq-wasm/jq.wasm')) })
let loading = load()

async function run({ value, filter }: JqOrder): Promise<unknown> {
  const jq = await loading
  report({ kind: 'ready' })
  const { stdout, stderr, exitCode } = runRaw(jq, value, filter)
  if (exitCode !== 0) throw new Error(stderr.trim().slice(0, 500) || `exit code ${exitCode}`)
  if (stdout.length > MAX_RESULT_LENGTH) throw new Error('the result is too long')
  const lines = stdout.split('\n').filter((line) => line !== '')
  const results = lines.map((line) => JSON.parse(line) as unknown)
  if (isDeeperThan(results, MAX_LEVELS + 1)) throw new Error(`the result is nested deeper than ${MAX_LEVELS} levels`)
  // One result is the value. Several, such as those of `.[].name`, are a list.
  return results.length > 1 ? results : (results[0] ?? null)
}

function runRaw(jq: Awaited<ReturnType<typeof load>>, value: unknown, filter: string) {
  // A filter that names none of them stays as it is. So the positions in the error messages of jq are right.
  const own = /\bfn(?:2[KMG]B|Round[012]?)\b/.test(filter) ? `${DEFINITIONS} ` : ''
  const dropped = /(?<![.$\w])(?:leaf_paths|pow10|date|dateadd|datesub)\b/.test(filter) ? `${DROPPED} ` : ''
  const whole = `${own}${dropped}${filter}`
  try {
    return jq.raw(JSON.stringify(value ?? null), whole, ['-c'])
  } catch (error) {
    // A jq that broke down is not used again. The next filter gets a new one.
    loading = load()
    throw new Error(`it broke down, perhaps because it needed too much memory (${messageOf(error).slice(0, 100)})`)
  }
}

port.on('message', (order: JqOrder) => {
  run(order).then(
    (value) => report({ kind: 'done', value }),
    (error: unknown) => report({ kind: 'failed', reason: messageOf(error) }),
  )
})
