import { CONTRACT, NEWEST_CONTRACT, type HelloPayload } from '@holdfast/protocol'
import { hostname } from 'node:os'
import type { Identity } from '../identity/identity.js'

/** What the hello says about this process. */
export interface HelloDependencies {
  readonly generation: number
  /** Tells this process from another one of the same generation, which has a copy of its state folder. */
  readonly instance: string
  /** Whether the state folder is a copy that no control plane has let in. */
  readonly isCopied: () => boolean
  readonly name: string
  readonly joinToken: string | null
  readonly maxJobs: number
  readonly version: string
  /** What `ansible-playbook --version` said; null while it is not known. */
  readonly ansibleVersion: () => string | null
  /** How jobs are kept apart, in a word. */
  readonly isolation: () => string
  readonly now: () => Date
}

/** What the agent says about itself: the payload of each hello. */
export function createHello(deps: HelloDependencies): (identity: Identity) => string {
  const { now } = deps
  return (identity) => {
    const said: HelloPayload = {
      name: deps.name,
      identity_key: identity.identityPublicKey,
      sealing_key: identity.sealingPublicKey,
      generation: deps.generation,
      instance: deps.instance,
      ...(deps.isCopied() ? { copied: true } : {}),
      contract: CONTRACT,
      speaks: NEWEST_CONTRACT,
      version: deps.version,
      ansible_version: deps.ansibleVersion(),
      host: hostname(),
      max_jobs: deps.maxJobs,
      isolation: deps.isolation(),
      join_token: deps.joinToken,
      succession: [...identity.succession],
      clock: now().getTime(),
    }
    return JSON.stringify(said)
  }
}
