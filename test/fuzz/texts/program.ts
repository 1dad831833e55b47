import { openSync, writeSync } from 'node:fs'
import { inspect } from 'node:util'
import { createChance } from '../../chaos/kit/seed.js'
import { drawText } from './make-text.js'
import { createReaders } from './readers.js'

/**
 * Reads texts, one after the other, in a process that may die of one: `program.ts SEED FROM TO FILE`. The number of the
 * present text is always in the file. At the end one line of JSON says what came of all of them.
 */
const [seed = 0, from = 0, to = 0] = process.argv.slice(2, 5).map(Number)
const file = openSync(process.argv[5] ?? '', 'w')
const read = createReaders()
const chance = createChance(seed)
const came: Record<string, number> = {}
let slowest = { ms: 0, number: 0 }
for (let number = from; number <= to; number += 1) {
  writeSync(file, String(number).padStart(12), 0)
  const drawn = drawText(chance.fork(`text ${number}`))
  const began = performance.now()
  try {
    const end = `${drawn.door} ${await read(drawn)}`
    came[end] = (came[end] ?? 0) + 1
  } catch (error) {
    process.stderr.write(
      `text ${number}, ${drawn.door}: ${inspect(error)}\n${JSON.stringify(drawn.text.slice(0, 2000))}\n`,
    )
    process.exit(1)
  }
  const ms = performance.now() - began
  if (ms > slowest.ms) slowest = { ms, number }
}
process.stdout.write(`${JSON.stringify({ came, slowest, peakMb: process.resourceUsage().maxRSS / 1024 })}\n`)
