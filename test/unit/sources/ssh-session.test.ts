import { generateKeyPairSync } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import ssh, { type Connection, type Server, type ServerChannel } from 'ssh2'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { runOverSsh } from '../../../control-plane/src/sources/ssh-session.js'

/** Most bytes that a command may print. */
const MAX_BYTES = 1024 * 1024

/** A private key, and the public one as it comes over the wire. */
function newKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const own = privateKey.export({ type: 'sec1', format: 'pem' }).toString()
  const parsed = ssh.utils.parseKey(own)
  if (parsed instanceof Error) throw parsed
  return { private: own, public: parsed.getPublicSSH() }
}
const hostKey = newKey()
const ownKey = newKey()
const strangersKey = newKey()
const lineOf = (host: string, { public: key }: typeof hostKey) =>
  `${host} ecdsa-sha2-nistp256 ${key.toString('base64')}\n`

/** What the host does with a command; null: it refuses to run it. */
let carryOut: ((channel: ServerChannel) => void) | null
/** What came from the client, in order. */
let came: string[] = []
/** Clients whose connection has not ended. */
const open = new Set<Connection>()
let server: Server
let knownHosts: string
let place: { readonly host: string; readonly port: number }

/** A server of ssh in this process: no shell, no user of the machine. */
beforeAll(async () => {
  // Of a signal to a command that runs, this server only says something in its log.
  const debug = (line: string) => {
    if (line.includes('signal: KILL')) came.push('signal KILL')
  }
  server = new ssh.Server({ hostKeys: [hostKey.private], debug }, (client) => {
    client.on('error', () => undefined)
    open.add(client)
    client.on('close', () => {
      open.delete(client)
      came.push('closed')
    })
    client.on('authentication', (asked) => {
      const isOwn = asked.method === 'publickey' && asked.key.data.equals(ownKey.public)
      if (isOwn && asked.username === 'operator') asked.accept()
      else asked.reject()
    })
    client.on('session', (accept) => {
      const session = accept()
      session.on('exec', (acceptCommand, reject, { command }) => {
        came.push(command)
        if (!carryOut) return reject()
        carryOut(acceptCommand())
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  place = { host: '127.0.0.1', port }
  knownHosts = lineOf(`[127.0.0.1]:${port}`, hostKey)
})
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())))
/** Every connection ends with the wait for its command. */
afterEach(async () => {
  await expect.poll(() => open.size).toBe(0)
  came = []
})

const run = (more: Partial<Parameters<typeof runOverSsh>[0]> = {}, signal = new AbortController().signal) =>
  runOverSsh({ ...place, user: 'operator', command: 'uptime', key: ownKey.private, knownHosts, ...more }, signal)

const endsWith = (code: number, output: string | Buffer = '', errors = '') => {
  carryOut = (channel) => {
    if (errors !== '') channel.stderr.write(errors)
    channel.write(output, () => {
      channel.exit(code)
      channel.end()
    })
  }
}
const wasClosed = () => expect.poll(() => came).toContain('closed')

describe('a command', () => {
  test.each([
    ['one\ntwo\n', 'one\ntwo'],
    ['one\r\n', 'one'],
    ['one\n\n', 'one\n'],
    ['', ''],
  ])('that prints %j gives it without the last line end: %j', async (printed, text) => {
    endsWith(0, printed)
    expect(await run()).toBe(text)
    await wasClosed()
    // What ended by itself needs no end.
    expect(came).toEqual(['uptime', 'closed'])
  })

  test('may print 1 MiB, and not a byte more', async () => {
    endsWith(0, Buffer.alloc(MAX_BYTES, 'a'))
    expect(await run()).toHaveLength(MAX_BYTES)
    endsWith(0, Buffer.alloc(MAX_BYTES + 1, 'a'))
    await expect(run()).rejects.toThrow('the command on 127.0.0.1 printed more than 1 MiB')
  })

  test('that prints too much and goes on is killed', async () => {
    carryOut = (channel) => channel.write(Buffer.alloc(MAX_BYTES + 1, 'a'))
    await expect(run()).rejects.toThrow('printed more than 1 MiB')
    await wasClosed()
    expect(came).toEqual(['uptime', 'signal KILL', 'closed'])
  })

  test('that ended is not killed, also when more of what it printed comes afterwards', async () => {
    carryOut = (channel) => {
      channel.resume()
      channel.once('end', () => {
        channel.exit(0)
        channel.write(Buffer.alloc(MAX_BYTES + 1, 'a'))
      })
    }
    await expect(run()).rejects.toThrow('printed more than 1 MiB')
    await wasClosed()
    expect(came).toEqual(['uptime', 'closed'])
  })

  test.each([
    ['says nothing', '', 'ended with 3'],
    ['says two lines', 'first\nlast\n', 'ended with 3: last'],
    ['says one long line', `${'a'.repeat(2000)}\n`, `ended with 3: ${'a'.repeat(299)}…`],
  ])('that fails and %s is a problem', async (_, errors, problem) => {
    endsWith(3, 'printed', errors)
    await expect(run()).rejects.toMatchObject({ message: `the command on 127.0.0.1 ${problem}`, name: 'SourceProblem' })
  })

  test('that a signal ended, or that ends without a word, is a problem', async () => {
    carryOut = (channel) => {
      channel.exit('TERM')
      channel.end()
    }
    await expect(run()).rejects.toThrow('the command on 127.0.0.1 ended with SIGTERM')
    carryOut = (channel) => {
      channel.end()
    }
    await expect(run()).rejects.toThrow('the command on 127.0.0.1 ended with no status')
  })

  test('has nothing to read', async () => {
    carryOut = (channel) => {
      channel.resume()
      channel.once('end', () => {
        channel.write('read')
        channel.exit(0)
        channel.end()
      })
    }
    expect(await run()).toBe('read')
  })

  test('that the host does not run is a problem', async () => {
    carryOut = null
    await expect(run()).rejects.toThrow('the command cannot be run on 127.0.0.1')
    await wasClosed()
  })

  test('for which nobody waits any more is killed, and its connection ends', async () => {
    const stop = new AbortController()
    carryOut = (channel) => {
      // The command runs on the other side, too, when its input is closed there.
      channel.resume()
      channel.once('end', () => stop.abort())
    }
    await expect(run({}, stop.signal)).rejects.toThrow('it was not answered in time')
    await wasClosed()
    expect(came).toEqual(['uptime', 'signal KILL', 'closed'])
  })

  test('for which nobody waited from the beginning is not run', async () => {
    carryOut = () => undefined
    await expect(run({}, AbortSignal.abort())).rejects.toThrow('it was not answered in time')
  })
})

test('a connection ends by itself, and nothing waits any more to cut it', async () => {
  const cuts: unknown[] = []
  const begin = setTimeout
  const spied = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((act: () => void, ms?: number) => {
    // The time until the connection is cut does not pass here.
    const timer = begin(ms === 2000 ? () => undefined : act, ms)
    if (ms === 2000) cuts.push(timer)
    return timer
  }) as never)
  const ended = vi.spyOn(globalThis, 'clearTimeout')
  onTestFinished(() => {
    spied.mockRestore()
    ended.mockRestore()
  })
  endsWith(0, 'one')
  expect(await run()).toBe('one')
  await wasClosed()
  expect(cuts).toHaveLength(1)
  await expect.poll(() => ended.mock.calls.map(([timer]) => timer)).toContain(cuts[0])
})

describe('a host', () => {
  test('whose key is not known is not talked to', async () => {
    endsWith(0)
    for (const other of ['', lineOf(`[127.0.0.1]:${place.port}`, strangersKey), lineOf('127.0.0.1', hostKey)]) {
      await expect(run({ knownHosts: other })).rejects.toThrow(
        'ssh did not get to 127.0.0.1: its key is not known (FORM_SSH_KNOWN_HOSTS)',
      )
    }
    expect(came).not.toContain('uptime')
  })

  test('that lets nobody in with this key is a problem', async () => {
    await expect(run({ key: strangersKey.private })).rejects.toThrow(/did not get to 127.0.0.1: All configured auth/)
    await expect(run({ user: 'other' })).rejects.toThrow(/did not get to 127.0.0.1: All configured auth/)
    await expect(run({ key: 'no key' })).rejects.toThrow(/privateKey/)
    expect(came).not.toContain('uptime')
  })
})
