import { createHash, hkdfSync } from 'node:crypto'
import { EncryptJWT, type JWTPayload, errors, jwtDecrypt } from 'jose'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Clock } from '../../time/clock.js'
import { type Secrets, secretsOf } from '../../secrets/secret-ring.js'

/** How long a sign-in at the provider may take, in milliseconds. */
export const FLOW_MS = 10 * 60_000

const Flow = Type.Object({
  kind: Type.Enum(['oidc', 'azuread']),
  state: Type.String(),
  nonce: Type.String(),
  verifier: Type.String(),
  /** For a program that opened a browser: where it listens, and the challenge that its code has to fit. */
  client: Type.Union([
    Type.Object({
      redirect: Type.String(),
      challenge: Type.String(),
      machine: Type.Union([Type.String(), Type.Null()]),
    }),
    Type.Null(),
  ]),
  /** For a page: its path below the base URL, where the browser goes on. */
  page: Type.Optional(Type.String()),
})
const flowCheck = Compile(Flow)

/** The user has signed in, and has to say whether the program that opened the browser may use the account. */
const ConsentQuestion = Type.Object({
  userId: Type.Integer(),
  redirect: Type.String(),
  challenge: Type.String(),
  machine: Type.Union([Type.String(), Type.Null()]),
  /** The text that the page with the question sends back. No other page knows it. */
  ticket: Type.String(),
})
const questionCheck = Compile(ConsentQuestion)

/** The question that a user answers before a program is signed in as them. */
export type ConsentQuestion = Readonly<Static<typeof ConsentQuestion>>

/** A sign-in that has begun at a provider. */
export type Flow = Readonly<Static<typeof Flow>>

/**
 * The state of a sign-in, in a cookie of the browser that began it. So nobody can end it in another browser, and any
 * node can end it. The cookie is encrypted, so that it can be neither read nor changed.
 */
export type FlowCookies = ReturnType<typeof createFlowCookies>

/** Tells the cookies of several sign-ins in one browser apart. It says nothing about the sign-in. */
export function flowTag(state: string): string {
  return createHash('sha256').update(state).digest('hex').slice(0, 16)
}

/** @param secrets ACCESS_TOKEN_SECRET, the same on all nodes: the first one encrypts, each of them may decrypt */
export function createFlowCookies(secrets: Secrets, clock: Clock) {
  const keys = () =>
    secretsOf(secrets).map(
      (secret) => new Uint8Array(hkdfSync('sha256', secret, '', 'holdfast sign-in under way v1', 32)),
    )
  const seal = (claims: JWTPayload) =>
    new EncryptJWT(claims)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setExpirationTime(new Date(clock.now() + FLOW_MS))
      .encrypt(keys()[0] ?? new Uint8Array())

  async function openWith(text: string, key: Uint8Array): Promise<JWTPayload | null> {
    try {
      const { payload } = await jwtDecrypt(text, key, {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        requiredClaims: ['exp'],
        currentDate: new Date(clock.now()),
      })
      return payload
    } catch (error) {
      if (error instanceof errors.JOSEError) return null
      throw error
    }
  }

  async function open(text: string): Promise<JWTPayload | null> {
    for (const key of keys()) {
      const payload = await openWith(text, key)
      if (payload) return payload
    }
    return null
  }

  return {
    seal: (flow: Flow): Promise<string> => seal({ flow }),
    /** Null for a cookie that is not ours, was changed, or is too old. */
    async open(text: string): Promise<Flow | null> {
      const flow = (await open(text))?.flow
      return flowCheck.Check(flow) ? flow : null
    },
    /** The same for the question at the end. */
    sealQuestion: (question: ConsentQuestion): Promise<string> => seal({ question }),
    async openQuestion(text: string): Promise<ConsentQuestion | null> {
      const question = (await open(text))?.question
      return questionCheck.Check(question) ? question : null
    },
  }
}
