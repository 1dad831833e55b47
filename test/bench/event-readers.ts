import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { API_PREFIX } from '../../control-plane/src/http/route/paths.js'

/**
 * Many readers of the event stream in one process: event-readers.ts <host> <port> <readers> <stuck>. The first line of
 * standard input is a bearer token. Prints "open" when all are connected and those that read have had their hello. Each
 * further line is answered with one of JSON: for each reader that reads, when each changed event came, in milliseconds of
 * the machine's monotonic clock, since the line before. Ends when standard input does.
 */
const [host = '', port = '', readers = '0', stuck = '0'] = process.argv.slice(2)
/** Connections that are being made at the same time: not more than the queue of a listening socket takes. */
const AT_ONCE = 100

const arrivals: number[][] = []
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const token = String((await lines.next()).value)

function open(reads: boolean): Promise<void> {
  const request = `GET ${API_PREFIX}/events HTTP/1.1\r\nHost: ${host}:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), host, () => {
      socket.write(request)
      if (!reads) {
        // Never read: what the system does not take for it waits at the other end.
        socket.pause()
        resolve()
      }
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the control plane ended an event stream')))
    if (!reads) return
    const times: number[] = []
    arrivals.push(times)
    // An event is short and is written in one piece, so it comes in one.
    socket.on('data', (piece) => {
      const now = Number(process.hrtime.bigint()) / 1e6
      const text = piece.toString('latin1')
      for (let count = text.split('event: changed').length - 1; count > 0; count -= 1) times.push(now)
      if (text.includes('event: hello')) resolve()
    })
  })
}

async function openAll(count: number, reads: boolean): Promise<void> {
  for (let left = count; left > 0; left -= AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, left) }, () => open(reads)))
  }
}

await openAll(Number(readers), true)
await openAll(Number(stuck), false)
console.log('open')
for (let line = await lines.next(); !line.done; line = await lines.next()) {
  console.log(JSON.stringify(arrivals.map((times) => times.splice(0))))
}
process.exit(0)
