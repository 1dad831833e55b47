import { Agent, get } from 'node:http'
import { createInterface } from 'node:readline'

/**
 * Asks /live every 20 ms, whether or not the last answer is there: live-prober-program.ts <address>. Each line of standard input
 * is answered with one of JSON: `{worst, count, late}`, the longest wait for an answer since the line before, in milliseconds,
 * how many answers there were, and how late the process itself was with asking, which tells how busy the machine is. Ends when standard input does.
 */
const EVERY_MS = 20
const [address = ''] = process.argv.slice(2)
// What a standstill has opened is closed again.
const agent = new Agent({ keepAlive: true, maxFreeSockets: 2 })
const waiting = new Set<number>()
let worst = 0
let count = 0
let late = 0
let lastAt = performance.now()

function ask(): void {
  const begin = performance.now()
  late = Math.max(late, begin - lastAt - EVERY_MS)
  lastAt = begin
  waiting.add(begin)
  get(`${address}/api/v2/live`, { agent }, (response) => {
    response.resume().on('end', () => {
      waiting.delete(begin)
      worst = Math.max(worst, performance.now() - begin)
      count += 1
    })
  }).on('error', (error) => {
    // The service was ended or killed: whoever asks for the figures next is told.
    console.error(`live-prober: ${error.message}`)
    process.exit(1)
  })
}

setInterval(ask, EVERY_MS)
for await (const _ of createInterface({ input: process.stdin })) {
  // What still waits has waited so long already.
  const now = performance.now()
  console.log(JSON.stringify({ worst: Math.max(worst, ...[...waiting].map((begin) => now - begin)), count, late }))
  worst = 0
  count = 0
  late = 0
}
process.exit(0)
