import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { SettingsError } from '@holdfast/protocol'
import { messageOf } from './errors.js'
import type { ControlPlaneSettings } from './settings.js'

/** Certificate chain and key in PEM. */
export interface TlsFiles {
  readonly cert: Buffer
  readonly key: Buffer
}

/**
 * Reads the certificate and the key and tries them, so that a start with wrong ones ends before anything is opened.
 * @throws SettingsError that names the setting
 */
export async function readTlsFiles(tls: ControlPlaneSettings['tls']): Promise<TlsFiles | null> {
  if (tls === null) return null
  const cert = await readNamed('HTTPS_CERT', tls.certPath)
  const key = await readNamed('HTTPS_KEY', tls.keyPath)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new SettingsError(
      `HTTPS_CERT, HTTPS_KEY: ${tls.certPath} and ${tls.keyPath} are no certificate and key in PEM that belong together: ${messageOf(error)}`,
    )
  }
  return { cert, key }
}

async function readNamed(name: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    throw new SettingsError(`${name}: cannot read ${path}: ${messageOf(error)}`)
  }
}
