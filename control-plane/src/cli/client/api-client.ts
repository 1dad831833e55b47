import type * as v from 'valibot'
import type { Access } from './access.js'
import { failureOf, readJson, send, type HttpRequest } from './http.js'

/** The service's REST interface as one signed-in user. Every failure is a CliError. */
export interface ApiClient {
  readonly server: string
  /** A request whose JSON answer fits the schema. */
  ask<Schema extends v.GenericSchema>(request: Asked, schema: Schema): Promise<v.InferOutput<Schema>>
  /** A request whose answer is read by the caller. */
  open(request: Asked): Promise<Response>
}

export type Asked = Omit<HttpRequest, 'token'>

/** A client that renews its token once when the server refuses it. */
export function createApiClient(server: string, access: Access): ApiClient {
  async function open(request: Asked): Promise<Response> {
    if (access.token === null) await access.renew()
    const tried = access.token
    let response = await send(server, { ...request, token: tried })
    if (response.status === 401) {
      await response.body?.cancel()
      // A neighbour of this process may have renewed while the answer was on its way.
      if (access.token === tried) await access.renew()
      response = await send(server, { ...request, token: access.token })
    }
    if (response.status !== 200) throw await failureOf(server, request, response)
    return response
  }

  return {
    server,
    open,
    ask: async (request, schema) => readJson(server, request, await open(request), schema),
  }
}
