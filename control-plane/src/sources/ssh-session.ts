import type { Client, ClientChannel } from 'ssh2'
import { foreignText } from '../secrets/foreign-text.js'
import { isKnownHost } from './known-hosts.js'
import { SourceProblem } from './question.js'

/** Most that a command may print, in bytes. */
const MAX_OUTPUT_BYTES = 1024 * 1024
/** Most characters of its standard error that are kept. The last ones are kept. */
const MAX_SAID = 1000
/** How long a connection may take until it is ready for commands, in milliseconds. */
const CONNECT_MS = 10_000
/** How long a connection may take to end in good order, in milliseconds. Then it is cut. */
const END_MS = 2000

/** A command, and where and as whom it runs. */
export interface SshRun {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly command: string
  /** The private key. */
  readonly key: string
  /** The content of the file of known hosts. */
  readonly knownHosts: string
}

/**
 * Runs a command over a connection of its own. The connection always ends with the wait for the command. If the command
 * still runs then, the host is asked to kill it. OpenSSH does so, but not for root.
 * @returns what it printed, without the line end at its end
 * @throws SourceProblem when it cannot be run, when it ends with another status than 0, or at the signal
 */
export async function runOverSsh(asked: SshRun, signal: AbortSignal): Promise<string> {
  // Loaded when it is needed: most services never need it.
  const ssh = (await import('ssh2')).default
  const client = new ssh.Client()
  const command: RunningCommand = { channel: null }
  try {
    return await untilAborted(signal, runOn(client, asked, command))
  } finally {
    try {
      // Before the end of the connection: nothing is sent after it.
      if (command.channel) kill(client, command.channel)
    } finally {
      client.end()
      const cut = setTimeout(() => client.destroy(), END_MS)
      client.once('close', () => clearTimeout(cut))
    }
  }
}

/** The channel of a command; null: it does not run yet, or no more. */
interface RunningCommand {
  channel: ClientChannel | null
}

async function runOn(client: Client, asked: SshRun, command: RunningCommand): Promise<string> {
  await connect(client, asked)
  const channel = await start(client, asked)
  command.channel = channel
  for (const end of ['exit', 'close']) channel.once(end, () => (command.channel = null))
  return outputOf(channel, asked)
}

/** Asks the host to kill the command. The library itself sends no signal any more when the standard input is closed. */
function kill(client: Client, channel: ClientChannel): void {
  const { _protocol: protocol } = client as unknown as { _protocol: { signal(channel: number, name: string): void } }
  const { outgoing } = channel as unknown as { outgoing: { id: number } }
  protocol.signal(outgoing.id, 'KILL')
}

function connect(client: Client, { host, port, user, key, knownHosts }: SshRun): Promise<void> {
  let isKnown: boolean | null = null
  return new Promise((resolve, reject) => {
    client.once('ready', () => resolve())
    client.on('error', (error) => {
      const why = isKnown === false ? 'its key is not known (FORM_SSH_KNOWN_HOSTS)' : foreignText(error, [key])
      reject(new SourceProblem(`ssh did not get to ${host}: ${why}`))
    })
    client.once('close', () => reject(new SourceProblem(`${host} closed the connection`)))
    client.connect({
      host,
      port,
      username: user,
      readyTimeout: CONNECT_MS,
      privateKey: key,
      hostVerifier: (hostKey: Buffer) => (isKnown = isKnownHost(knownHosts, { host, port }, hostKey)),
    })
  })
}

function start(client: Client, { host, command, key }: SshRun): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.exec(command, (error, channel) => {
      if (error) return reject(new SourceProblem(`the command cannot be run on ${host}: ${foreignText(error, [key])}`))
      // Closes the standard input. Otherwise a command that reads it would wait for ever.
      channel.end()
      resolve(channel)
    })
  })
}

function outputOf(channel: ClientChannel, { host, key }: SshRun): Promise<string> {
  const printed: Buffer[] = []
  let bytes = 0
  let said = ''
  return new Promise((resolve, reject) => {
    const fail = (problem: string) => reject(new SourceProblem(`the command on ${host} ${problem}`))
    channel.on('data', (piece: Buffer) => {
      bytes += piece.length
      if (bytes <= MAX_OUTPUT_BYTES) printed.push(piece)
      else fail(`printed more than ${MAX_OUTPUT_BYTES / 1024 / 1024} MiB`)
    })
    channel.stderr.on('data', (piece: Buffer) => {
      said = (said + piece.toString('utf8')).slice(-MAX_SAID)
    })
    channel.once('close', (code: number | null, signalName?: string) => {
      const text = Buffer.concat(printed).toString('utf8')
      if (code === 0) return resolve(text.replace(/\r?\n$/, ''))
      const words = foreignText(said.trim().split('\n').at(-1) ?? '', [key])
      fail(`ended with ${code ?? signalName ?? 'no status'}${words === '' ? '' : `: ${words}`}`)
    })
  })
}

/** Ends as the promise does, but rejects as soon as the signal aborts. */
function untilAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new SourceProblem('it was not answered in time'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
