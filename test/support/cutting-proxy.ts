import { type Server, type Socket, connect, createServer } from 'node:net'
import { once } from 'node:events'

/** A TCP proxy between the agent and the control plane that can cut, refuse and go silent. */
export interface CuttingProxy {
  readonly address: string
  /** Destroys every connection now, in the middle of whatever it carries. */
  cut(): void
  /** While held, new connections are refused and old ones carry nothing in either direction. */
  hold(held: boolean): void
  /** Bytes carried from the agent to the control plane so far. */
  carried(): number
  close(): Promise<void>
}

export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let held = false
  let carried = 0
  const server: Server = createServer((near) => {
    if (held) {
      near.destroy()
      return
    }
    const far = connect(Number(port), hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes: Buffer) => {
        if (held) return
        if (from === near) carried += bytes.length
        if (!to.write(bytes)) {
          from.pause()
          to.once('drain', () => from.resume())
        }
      })
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('the proxy has no port')
  return {
    address: `http://127.0.0.1:${bound.port}`,
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    hold(value) {
      held = value
    },
    carried: () => carried,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
