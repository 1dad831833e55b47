import { readFile } from 'node:fs/promises'
import { createSecureContext, Server } from 'node:tls'
import { SettingsError } from '@holdfast/protocol'
import type { Logger } from 'pino'
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

/**
 * Reads certificate and key anew and shows them from the next connection on. Connections that are open stay as they are.
 * Wrong files change nothing and are logged.
 * @param server the web server; one without TLS has no certificate to change
 */
export async function reloadTlsFiles(
  tls: ControlPlaneSettings['tls'],
  server: unknown,
  log: Pick<Logger, 'info' | 'error'>,
): Promise<void> {
  try {
    const files = await readTlsFiles(tls)
    if (files === null) return
    if (server instanceof Server) server.setSecureContext(files)
    log.info({ file: tls?.certPath }, 'the certificate was read again')
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    log.error(
      { problem: error.message },
      'the certificate was not changed: the files are wrong, and the last good ones stay',
    )
  }
}

async function readNamed(name: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    throw new SettingsError(`${name}: cannot read ${path}: ${messageOf(error)}`)
  }
}
