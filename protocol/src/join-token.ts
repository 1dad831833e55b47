/**
 * A join token: a random secret and, after a dot, the fingerprint of the control plane that made it, so that a new runner
 * knows whom to obey before it says anything.
 */
const FORMAT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/
const FINGERPRINT_PREFIX = 'SHA256:'

/** @param fingerprint of the control plane's key */
export function joinTokenOf(secret: string, fingerprint: string): string {
  const digest = Buffer.from(fingerprint.slice(FINGERPRINT_PREFIX.length), 'base64')
  return `${secret}.${digest.toString('base64url')}`
}

/** The part that is secret: what the control plane looks for. The whole text, if it is no join token. */
export function joinSecretOf(token: string): string {
  return FORMAT.exec(token)?.[1] ?? token
}

/** Fingerprint of the control plane that made a token; null when it is no join token. */
export function fingerprintInToken(token: string): string | null {
  const digest = FORMAT.exec(token)?.[2]
  if (digest === undefined) return null
  return FINGERPRINT_PREFIX + Buffer.from(digest, 'base64url').toString('base64').replace(/=+$/, '')
}
