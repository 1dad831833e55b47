import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a server was asked. */
export interface AskedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A server on 127.0.0.1 that forms ask in tests. */
export interface AnsweringServer {
  readonly url: string
  readonly port: number
  /** Everything that was asked, in the order in which it came. */
  readonly asked: AskedRequest[]
  /** How often a path was asked. */
  count(path: string): number
  close(): Promise<void>
}

/** A value is sent as JSON; a function answers by itself, or never. */
export type Answering = object | ((request: AskedRequest, response: ServerResponse) => unknown)

/** Starts a server that answers by path. What it does not know is 404. */
export async function startAnsweringServer(
  answers: Readonly<Record<string, Answering>>,
  host = '127.0.0.1',
): Promise<AnsweringServer> {
  const asked: AskedRequest[] = []
  const server: Server = createServer((request, response) => {
    void (async () => {
      const parts: Buffer[] = []
      for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
      const { method = '', url = '', headers } = request
      const one = { method, path: url, headers, body: Buffer.concat(parts).toString() }
      asked.push(one)
      const answer = answers[url.split('?')[0] ?? '']
      if (answer === undefined) response.writeHead(404).end()
      else if (typeof answer === 'function') await (answer as (...given: unknown[]) => unknown)(one, response)
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host}:${port}`,
    port,
    asked,
    count: (path) => asked.filter((one) => one.path === path).length,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
