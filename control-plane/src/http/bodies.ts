import { type FastifyInstance, errorCodes } from 'fastify'

/**
 * Bodies are JSON. An empty body is no body whatever its content type says, since clients send the header with
 * every request; other kinds are refused before they are read. Plugins may add kinds for their own routes.
 */
export function registerBodyParsing(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
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
