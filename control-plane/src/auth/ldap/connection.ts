import { readFile } from 'node:fs/promises'
import { connect, isIP } from 'node:net'
import { resolve } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import { Client } from 'ldapts'
import { within } from '../../time/time-limit.js'
import type { LdapSettings } from '../roles/provider-config.js'

/** Limits in milliseconds: for a connection, for one query, and for all queries together. */
const CONNECT_MS = 5000
const ANSWER_MS = 10_000
const ALL_MS = 20_000

/**
 * Runs `ask` with a new connection to the directory, and closes it afterwards. If TLS is configured, nothing is sent
 * before it works.
 * @param folder where relative paths in the settings begin
 * @throws the errors of `ask` and of the connection
 */
export async function withDirectory<T>(
  settings: LdapSettings,
  folder: string,
  ask: (client: Client) => Promise<T>,
): Promise<T> {
  const tls = await tlsOptions(settings, folder)
  const isTls = settings.url.toLowerCase().startsWith('ldaps:')
  const client = new Client({
    url: settings.url,
    connectTimeout: CONNECT_MS,
    timeout: ANSWER_MS,
    ...(isTls ? { tlsOptions: tls } : { createConnection: connectOnce() }),
  })
  const talk = async () => {
    if (settings.startTls) await client.startTLS(tls)
    return ask(client)
  }
  try {
    return await within(ALL_MS, talk(), () => new Error('The directory took too long'))
  } finally {
    // Nothing waits for the end of the connection.
    client.unbind().catch(() => undefined)
  }
}

/**
 * Lets the client connect only once. By itself it would connect again after it was cut off, and then send passwords
 * without TLS.
 */
function connectOnce(): typeof connect {
  let isUsed = false
  const once = (port: number, host: string) => {
    if (isUsed) throw new Error('The directory closed the connection')
    isUsed = true
    return connect(port, host)
  }
  return once as typeof connect
}

async function tlsOptions(settings: LdapSettings, folder: string): Promise<ConnectionOptions> {
  const host = new URL(settings.url).hostname.replace(/^\[|\]$/g, '')
  return {
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(settings.ca === null ? {} : { ca: await readFile(resolve(folder, settings.ca)) }),
    rejectUnauthorized: settings.verify,
  }
}
