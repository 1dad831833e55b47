import { hkdfSync } from 'node:crypto'
import { EncryptJWT, errors, jwtDecrypt } from 'jose'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Clock } from '../../clock.js'
import { type Secrets, secretsOf } from '../../secret-ring.js'

/** How long somebody may take at the provider, in milliseconds. */
export const FLOW_MS = 10 * 60_000

const Flow = Type.Object({
  kind: Type.Enum(['oidc', 'azuread']),
  state: Type.String(),
  nonce: Type.String(),
  verifier: Type.String(),
  /** Of a client that opened a browser: where it listens, and what it will have to show. */
  client: Type.Union([Type.Object({ redirect: Type.String(), challenge: Type.String() }), Type.Null()]),
})
const flowCheck = Compile(Flow)

/** A sign-in that is under way at a provider. */
export type Flow = Readonly<Static<typeof Flow>>

/**
 * What is remembered of a sign-in under way: in a cookie of the browser that began it, so that nobody can end it in
 * another one, and so that any node can. It is encrypted, so it can neither be read nor changed.
 */
export interface FlowCookies {
  seal(flow: Flow): Promise<string>
  /** Null for one that is not ours, was changed, or is too old. */
  open(text: string): Promise<Flow | null>
}

/** @param secrets ACCESS_TOKEN_SECRET, which all nodes have in common: the first one encrypts, every one opens */
export function createFlowCookies(secrets: Secrets, clock: Clock): FlowCookies {
  const keys = () =>
    secretsOf(secrets).map(
      (secret) => new Uint8Array(hkdfSync('sha256', secret, '', 'holdfast sign-in under way v1', 32)),
    )
  return {
    seal: (flow) =>
      new EncryptJWT({ flow })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setExpirationTime(new Date(clock.now() + FLOW_MS))
        .encrypt(keys()[0] ?? new Uint8Array()),
    async open(text) {
      for (const key of keys()) {
        const flow = await openWith(text, key)
        if (flow) return flow
      }
      return null
    },
  }

  async function openWith(text: string, key: Uint8Array): Promise<Flow | null> {
    try {
      const { payload } = await jwtDecrypt(text, key, {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        requiredClaims: ['exp'],
        currentDate: new Date(clock.now()),
      })
      return flowCheck.Check(payload.flow) ? payload.flow : null
    } catch (error) {
      if (error instanceof errors.JOSEError) return null
      throw error
    }
  }
}
