import { readFile } from 'node:fs/promises'
import { connect, isIP } from 'node:net'
import { resolve } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import { Client, ResultCodeError } from 'ldapts'
import { within } from '../../time/time-limit.js'
import type { LdapSettings } from '../roles/provider-config.js'
import { type AnswerControl, BrokenAnswer, createAnswerReader } from './answers.js'
import { PasswordPolicyRequest, type PolicySays, policyOf } from './password-policy.js'

/** Limits in milliseconds: for a connection, for one query, and for all queries together. */
const CONNECT_MS = 5000
const ANSWER_MS = 10_000
const ALL_MS = 20_000

/** What a directory answers to a name and a password. */
export interface BindAnswer {
  /** Null: it accepts them. */
  readonly error: ResultCodeError | null
  readonly policy: PolicySays
}

/** A connection to a directory. */
export interface DirectoryConnection {
  readonly client: Client
  /** Asks with a name and a password, and how it stands with the password. @throws errors of the connection */
  bind(dn: string, password: string): Promise<BindAnswer>
}

/**
 * Runs `ask` with a new connection to the directory, and closes it afterwards. If TLS is configured, nothing is sent
 * before it works.
 * @param folder where relative paths in the settings begin
 * @throws the errors of `ask` and of the connection; BrokenAnswer
 */
export async function withDirectory<T>(
  settings: LdapSettings,
  folder: string,
  ask: (connection: DirectoryConnection) => Promise<T>,
): Promise<T> {
  const tls = await tlsOptions(settings, folder)
  const isTls = settings.url.toLowerCase().startsWith('ldaps:')
  const client = new Client({
    url: settings.url,
    connectTimeout: CONNECT_MS,
    timeout: ANSWER_MS,
    ...(isTls ? { tlsOptions: tls } : { createConnection: connectOnce() }),
  })
  const door = guard(client)
  const talk = async () => {
    if (settings.startTls) await client.startTLS(tls)
    return ask({ client, bind: (dn, password) => bindWith(client, door, dn, password) })
  }
  try {
    return await within(ALL_MS, talk(), () => new Error('The directory took too long'))
  } catch (error) {
    throw door.broken() ?? error
  } finally {
    // Nothing waits for the end of the connection.
    client.unbind().catch(() => undefined)
  }
}

async function bindWith(client: Client, door: Door, dn: string, password: string): Promise<BindAnswer> {
  door.forgetControls()
  let refused: ResultCodeError | null = null
  try {
    await client.bind(dn, password, new PasswordPolicyRequest())
  } catch (error) {
    if (!(error instanceof ResultCodeError)) throw error
    refused = error
  }
  return { error: refused, policy: policyOf(door.controls()) }
}

interface Door {
  /** What was wrong with the bytes of the directory; null: nothing. */
  broken(): BrokenAnswer | null
  /** The controls of the answers to binds since `forgetControls`. */
  controls(): readonly AnswerControl[]
  forgetControls(): void
}

/** Lets only whole messages of the right form to the library. The first wrong byte ends the connection. */
function guard(client: Client): Door {
  const reader = createAnswerReader()
  let broken: BrokenAnswer | null = null
  let controls: AnswerControl[] = []
  const { messageParser: parser } = client as unknown as {
    messageParser: { read(bytes: Buffer, asked: unknown): void }
  }
  const read = parser.read.bind(parser)
  parser.read = (bytes, asked) => {
    if (broken !== null) return
    try {
      for (const answer of reader.push(bytes)) {
        if (answer.isOfBind) controls.push(...answer.controls)
        read(answer.bytes, asked)
      }
    } catch (error) {
      broken = error instanceof BrokenAnswer ? error : new BrokenAnswer('the directory sends what nobody can read')
      client.unbind().catch(() => undefined)
    }
  }
  return {
    broken: () => broken,
    controls: () => controls,
    forgetControls: () => void (controls = []),
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
