import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { type PostgresServer, startPostgres } from './postgres.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the address of the run's database server is asked for. */
    readonly postgresKeeper: string
  }
}

/** One database server for a whole run: started when the first test asks for it, ended with the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | null = null
  const keeper = createServer((_request, response) => {
    server ??= startPostgres()
    server.then(
      ({ urlOf }) => response.end(urlOf('')),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await new Promise<void>((resolve) => keeper.listen(0, '127.0.0.1', resolve))
  project.provide('postgresKeeper', `http://127.0.0.1:${(keeper.address() as AddressInfo).port}`)
  return async () => {
    keeper.closeAllConnections()
    keeper.close()
    await (await server?.catch(() => null))?.close()
  }
}
