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

/**
 * Functions of older versions of jq that jq 1.8 no longer has, or that did more in jq 1.7: trimming left alone what is no
 * text, `last` of nothing was null, and a limit below 0 was none.
 */
const OF_OLDER_JQ = [
  'def leaf_paths: paths(scalars);',
  'def pow10: exp10;',
  'def date: todate;',
  'def dateadd(u; n): . + n;',
  'def datesub(u; n): . - n;',
  'def _cuts($x): type == "string" and ($x | type) == "string";',
  'def ltrimstr($x): if _cuts($x) and startswith($x) then .[$x | length:] else . end;',
  'def rtrimstr($x): if _cuts($x) and endswith($x) then .[:length - ($x | length)] else . end;',
  'def last(f): reduce f as $x (null; $x);',
  'def limit($n; f): if $n > 0 then label $full | foreach f as $x (0; . + 1; $x, if . >= $n then break $full else empty end)',
  'elif $n == 0 then empty else f end;',
].join(' ')

/** A filter that names one of them gets all of them. */
const NAMES_OLDER = /(?<![.$\w])(?:(?:leaf_paths|pow10|date|dateadd|datesub|[lr]trimstr)\b|last\s*\(|limit\s*\()/

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
  const older = NAMES_OLDER.test(filter) ? `${OF_OLDER_JQ} ` : ''
  const whole = `${own}${older}${filter}`
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
