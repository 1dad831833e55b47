import { SOCKET_PATH } from '@holdfast/protocol'
import { RawAgent, newIdentity } from '../support/raw-agent.js'

/**
 * Many idle runners in one process: idle-runners.ts <address>, join tokens on standard input, one a line. Prints
 * "connected <n>" when all are approved, and ends when its standard input does.
 */
const [address = ''] = process.argv.slice(2)
const url = address.replace(/^http/, 'ws') + SOCKET_PATH
let rest = ''
let connected = 0
process.stdin.setEncoding('utf8')
for await (const chunk of process.stdin) {
  rest += String(chunk)
  const lines = rest.split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) {
    if (line === 'done') console.log(`connected ${connected}`)
    else {
      const agent = await RawAgent.join(url, newIdentity(`idle-${connected}`), { join_token: line })
      agent.say({ type: 'inventory', jobs: [] })
      connected += 1
    }
  }
}
process.exit(0)
