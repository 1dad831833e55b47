import { once } from 'node:events'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import pg from 'pg'

/** What a PostgreSQL server says first to a client that it lets in without a password. */
const WELCOME = [message('R', Buffer.alloc(4)), message('K', Buffer.alloc(8)), message('Z', Buffer.from('I'))]

/**
 * A pooler in front of a PostgreSQL server that gives each transaction the connection that was free last, as pgbouncer
 * does in transaction mode. It knows no TLS, no COPY and no prepared statements with names.
 */
export async function startTransactionPooler(url: string): Promise<{
  readonly url: string
  /** In session mode each client keeps its connection from now on. */
  setMode(mode: 'session' | 'transaction'): void
  close(): Promise<void>
}> {
  let mode: 'session' | 'transaction' = 'transaction'
  const free: Socket[] = []
  const all: pg.Client[] = []
  const clients = new Set<Socket>()

  const take = async (): Promise<Socket> => {
    const last = free.pop()
    if (last) return last
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    await client.connect()
    all.push(client)
    // From here on the raw connection is used: the driver only signed in.
    const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } }).connection
    stream.removeAllListeners('data')
    return stream
  }

  const server = createServer((client) => {
    clients.add(client)
    client.on('error', () => undefined)
    let given: Socket | null = null
    let isWelcome = false
    let fromClient = Buffer.alloc(0)
    let work = Promise.resolve()

    const giveBack = (): void => {
      if (given === null) return
      given.removeAllListeners('data')
      free.push(given)
      given = null
    }
    const forward = async (bytes: Buffer): Promise<void> => {
      if (given === null) {
        const taken = await take()
        given = taken
        let fromServer = Buffer.alloc(0)
        taken.on('data', (answer: Buffer) => {
          client.write(answer)
          fromServer = Buffer.concat([fromServer, answer])
          let isOver = false
          fromServer = eachMessage(fromServer, (type, body) => {
            // "Ready for the next query", and no transaction is open.
            isOver = type === 'Z' && body.toString() === 'I'
          })
          if (isOver && mode === 'transaction') giveBack()
        })
      }
      given.write(bytes)
    }
    client.on('data', (bytes: Buffer) => {
      fromClient = Buffer.concat([fromClient, bytes])
      if (!isWelcome && fromClient.length >= 4 && fromClient.length >= fromClient.readUInt32BE(0)) {
        isWelcome = true
        fromClient = fromClient.subarray(fromClient.readUInt32BE(0))
        client.write(Buffer.concat(WELCOME))
      }
      if (!isWelcome) return
      fromClient = eachMessage(fromClient, (type, body) => {
        if (type === 'X') client.end()
        else work = work.then(() => forward(message(type, body)))
      })
    })
    client.on('close', () => {
      clients.delete(client)
      // What it had open must not go to the next one.
      given?.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: url.replace(/:\d+\//, `:${(server.address() as AddressInfo).port}/`),
    setMode(given) {
      mode = given
    },
    async close() {
      server.close()
      for (const client of clients) client.destroy()
      for (const { connection } of all as unknown as { readonly connection: { readonly stream: Socket } }[]) {
        connection.stream.destroy()
      }
      await once(server, 'close')
    },
  }
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type, 0, 'latin1')
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** Calls with each whole message. @returns what is left */
function eachMessage(bytes: Buffer, take: (type: string, body: Buffer) => void): Buffer<ArrayBuffer> {
  let rest = Buffer.from(bytes)
  while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
    const end = 1 + rest.readUInt32BE(1)
    take(rest.toString('latin1', 0, 1), rest.subarray(5, end))
    rest = rest.subarray(end)
  }
  return rest
}
