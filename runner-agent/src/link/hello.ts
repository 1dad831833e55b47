import { type AgentMessage, CONTRACT, type HelloPayload, signHello } from '@holdfast/protocol'
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Identity } from '../identity.js'
import type { Challenge } from './connection.js'

export interface HelloOptions {
  readonly identity: Identity
  readonly generation: number
  readonly name: string
  readonly joinToken: string | null
  readonly maxJobs: number
  readonly version: string
  /** What `ansible-playbook --version` said; null while it is not known. */
  readonly ansibleVersion: () => string | null
  /** How jobs are kept apart, in a word. */
  readonly isolation: string
  readonly now: () => Date
}

/** What the agent says about itself, signed together with the challenge of that connection. */
export function createHello(options: HelloOptions): (challenge: Challenge) => AgentMessage {
  const { identity, now } = options
  const instance = randomBytes(16).toString('hex')
  return (challenge) => {
    const said: HelloPayload = {
      name: options.name,
      identity_key: identity.identityPublicKey,
      sealing_key: identity.sealingPublicKey,
      generation: options.generation,
      instance,
      contract: CONTRACT,
      version: options.version,
      ansible_version: options.ansibleVersion(),
      host: hostname(),
      max_jobs: options.maxJobs,
      isolation: options.isolation,
      join_token: options.joinToken,
      clock: now().getTime(),
    }
    const payload = JSON.stringify(said)
    return { type: 'hello', payload, signature: signHello(identity.identityPrivatePem, challenge.nonce, payload) }
  }
}
