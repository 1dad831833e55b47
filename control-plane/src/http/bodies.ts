import type { IncomingMessage } from 'node:http'
import { type FastifyInstance, errorCodes } from 'fastify'
import type { Timers } from '../timers.js'
import { answerStalledRequest } from './errors.js'

/** How long a JSON body may take to be there, in milliseconds: what a request may take by default in Node.js. */
const WHOLE_BODY_MS = 300_000

/**
 * Bodies are JSON. An empty body is no body whatever its content type says, since clients send the header with
 * every request; other kinds are refused before they are read. Plugins may add kinds for their own routes.
 */
export function registerBodyParsing(app: FastifyInstance, timers: Timers): void {
  app.removeAllContentTypeParsers()
  // Who sends half a body and then nothing would keep a connection for ever. Forms with files have a limit of their own.
  app.addHook('preParsing', async ({ raw }, _reply, payload) => {
    if (isMultipart(raw) || !hasBody(raw)) return payload
    const stop = timers.after(WHOLE_BODY_MS, () => answerStalledRequest(raw.socket))
    payload.once('end', stop).once('close', stop)
    return payload
  })
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, undefined)
    else void parseJson(request, body.toString(), done)
  })
  app.addContentTypeParser('*', (request, _payload, done) => {
    if (request.headers['content-length'] === '0') done(null, undefined)
    else done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE())
  })
}

function isMultipart({ headers }: IncomingMessage): boolean {
  return headers['content-type']?.startsWith('multipart/form-data') ?? false
}

/** Nobody reads a body that is not there, so nobody would see its end either. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
