import { createHash } from 'node:crypto'
import { Agent, type IncomingMessage, get } from 'node:http'

/**
 * Viewers of the output of one job, as a process of its own:
 *   viewers-program.ts <address> <job> <tokens, separated by commas> <number of viewers> <read | idle>
 * It says `open` when all of them have an answer. Those that read say at the end of their answers which different
 * outputs they saw, as one line of JSON. Those that are idle read nothing and stay until the process is ended.
 */
const [address = '', job = '', tokens = '', count = '0', manner = 'read'] = process.argv.slice(2)
const sessions = tokens.split(',')
const agent = new Agent({ keepAlive: false, maxSockets: Infinity })

/** Begins to follow the output. @throws Error when that is refused */
function open(viewer: number): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${sessions[viewer % sessions.length]}` }
  return new Promise((resolve, reject) => {
    get(`${address}/api/v2/job/${job}/output?follow=true&offset=0`, { agent, headers }, (response) => {
      if (response.statusCode === 200) resolve(response)
      else reject(new Error(`viewer ${viewer} was answered ${response.statusCode}`))
    }).on('error', reject)
  })
}

/** The digest of all that comes. */
async function digestOf(response: IncomingMessage): Promise<string> {
  const digest = createHash('sha256')
  for await (const bytes of response) digest.update(bytes as Buffer)
  return digest.digest('hex')
}

const answers = await Promise.all(Array.from({ length: Number(count) }, (_, viewer) => open(viewer)))
const reading = manner === 'read' ? answers.map(digestOf) : []
console.log('open')
if (manner === 'read') console.log(JSON.stringify([...new Set(await Promise.all(reading))]))
