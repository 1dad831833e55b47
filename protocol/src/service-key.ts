import * as v from 'valibot'
import { fingerprintOf, publicKeyOf, publicKeySchema, signText, verifyText } from './identity.js'

/**
 * The control plane's own key (Ed25519). With it a runner recognises the control plane that it obeys. When the key is
 * replaced, the old one signs the new one. So a runner that trusts the old key also trusts the new one, without the
 * help of a person.
 */
const SERVICE_CONTEXT = 'holdfast service key succession v1\n'
const RUNNER_CONTEXT = 'holdfast runner key succession v1\n'

/** Most former keys that are sent. A runner that missed more rotations needs a person. */
export const MAX_SUCCESSIONS = 16

/** A key that was replaced, and its signature over the key that came after it. */
export const successionLinkSchema = v.object({
  key: publicKeySchema,
  signature: v.pipe(v.string(), v.maxLength(200)),
})
/** One replaced key with its signature. */
export type SuccessionLink = v.InferOutput<typeof successionLinkSchema>

/** Replaced keys, the oldest first. Each key signs the one after it; the last one signs today's key. */
export const successionSchema = v.pipe(v.array(successionLinkSchema), v.maxLength(MAX_SUCCESSIONS))
/** Replaced keys, the oldest first. */
export type Succession = v.InferOutput<typeof successionSchema>

/** Whose keys follow each other: a control plane's or a runner's. A signature for one kind does not count for the other. */
export type SuccessionOf = 'service' | 'runner'

/** The link from a key to the one that replaces it. @param next raw public key, base64 */
export function succeed(of: SuccessionOf, privatePem: string, next: string): SuccessionLink {
  const key = publicKeyOf(privatePem)
  return { key, signature: signText(privatePem, successionText(of, key, next)) }
}

/** True when the fingerprint is that of today's key, or of a former key from which good signatures lead to today's key. */
export function follows(of: SuccessionOf, fingerprint: string, succession: Succession, today: string): boolean {
  return fingerprintOf(today) === fingerprint || ancestorsOf(of, succession, today).includes(fingerprint)
}

/** Fingerprints of the former keys from which good signatures lead to today's key, the newest first. */
export function ancestorsOf(of: SuccessionOf, succession: Succession, today: string): string[] {
  const found: string[] = []
  let next = today
  for (const { key, signature } of succession.toReversed()) {
    if (!verifyText(key, successionText(of, key, next), signature)) break
    found.push(fingerprintOf(key))
    next = key
  }
  return found
}

function successionText(of: SuccessionOf, from: string, to: string): string {
  return `${of === 'service' ? SERVICE_CONTEXT : RUNNER_CONTEXT}${from}\n${to}`
}
