import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { doubtful, fine, type Finding, SettingsError, wrong } from '@holdfast/protocol'
import type { ControlPlaneSettings } from '../settings.js'
import { type TlsFiles, readTlsFiles } from '../tls-files.js'

const DAY_MS = 24 * 60 * 60 * 1000
/** A certificate that is valid for fewer days gets a warning. */
const SOON_DAYS = 21
const SUBJECT = 'certificate'

type Settings = Pick<ControlPlaneSettings, 'tls' | 'listenHost' | 'trustProxy' | 'publicUrl'>

/**
 * Checks whether connections to this control plane are encrypted, and how long the certificate is valid.
 * @param now the time in milliseconds
 */
export async function checkCertificate(settings: Settings, now: number): Promise<Finding[]> {
  const { tls, listenHost, trustProxy } = settings
  if (tls === null) {
    if (/^(127\.|::1$|localhost$)/.test(listenHost)) return [fine(SUBJECT, `none; it listens on ${listenHost} only`)]
    if (trustProxy) return [fine(SUBJECT, 'that of the proxy (TRUST_PROXY)')]
    const words = 'none, and passwords would cross the network in clear'
    return [doubtful(SUBJECT, words, 'set HTTPS, HTTPS_CERT and HTTPS_KEY, or TRUST_PROXY behind a proxy that does it')]
  }
  let files: TlsFiles | null
  try {
    files = await readTlsFiles(tls)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    return [wrong(SUBJECT, error.message, 'the user of the control plane must be able to read both files')]
  }
  return files === null ? [] : [validity(new X509Certificate(files.cert), settings.publicUrl, now)]
}

function validity(certificate: X509Certificate, publicUrl: string | null, now: number): Finding {
  const renew = 'get a new one; systemctl reload holdfast shows it without a restart'
  const days = Math.floor((Date.parse(certificate.validTo) - now) / DAY_MS)
  if (days < 0) return wrong(SUBJECT, `not valid any more since ${certificate.validTo}`, renew)
  if (Date.parse(certificate.validFrom) > now) return wrong(SUBJECT, `not valid before ${certificate.validFrom}`, renew)
  const host = publicUrl === null ? null : new URL(publicUrl).hostname.replaceAll(/[[\]]/g, '')
  if (host !== null && !isFor(certificate, host)) {
    return wrong(SUBJECT, `not for ${host}, which PUBLIC_URL says`, 'get one with this name, or change PUBLIC_URL')
  }
  if (days < SOON_DAYS) return doubtful(SUBJECT, `valid for ${days} more days`, renew)
  return fine(SUBJECT, `valid until ${certificate.validTo}`)
}

function isFor(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined
}
