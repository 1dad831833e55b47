import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { setImmediate as letOthersRun } from 'node:timers/promises'
import { type FastifyInstance, type FastifyRequest, errorCodes } from 'fastify'
import { networkOf } from '../../auth/sessions/network.js'
import { findInexactNumber } from '@holdfast/protocol'
import { InvalidInputError } from '../../errors.js'
import type { Timers } from '../../time/timers.js'
import { type Turns, createTurns } from '../../time/turns.js'
import { type BodyShare, createBodyShares } from './body-shares.js'
import { answerStalledRequest } from './errors.js'
import { keepHeapSmall } from '../../ground/heap-growth.js'
import { FORM_TYPE, formFields, isJsonText } from './form-bodies.js'
import { type JsonBounds, createJsonBounds } from '../../texts/json-bounds.js'

/** How long a JSON body may take to arrive, in milliseconds: the default of Node.js for a request. */
const WHOLE_BODY_MS = 300_000

const KIB = 1024
const MIB = 1024 * KIB

/** Most bytes of a body without a token: a name and a password, or a refresh token. */
const STRANGERS_BYTES = 16 * KIB
/** Most bytes of a body that is not a launch. The longest such body is a credential with its keys. */
const SHORT_BYTES = 512 * KIB

/** After a body with so many characters, other requests get their turn. */
const LONG_TEXT = 32 * KIB

/** A body with so many bytes waits for its turn. The second number says how many such bodies are handled at once. */
const TURN_BYTES = 128 * KIB
const TURNS = 2

/** Most bytes of all bodies without a token: from one network, and together. */
const STRANGERS_SHARES = { ofOne: MIB, ofAll: 8 * MIB }
/** How many of the largest bodies one user, and all users together, may have in work. */
const MAX_LARGE_OF_ONE = 4
const MAX_LARGE_OF_ALL = 16

declare module 'fastify' {
  interface FastifyRequest {
    /** The memory that is counted for the body of this request; null before it is read and after the answer. */
    bodyShare: BodyShare | null
    /** Ends the turn of a long body; null when it has none. */
    endBodyTurn: (() => void) | null
  }
  interface FastifyContextConfig {
    /** True for launches, whose bodies may be as long as API_BODY_LIMIT_MB says. */
    longBody?: boolean
  }
}

/**
 * Bodies are JSON, or what HTML forms and `curl -d` send (`form-bodies.ts`). An empty body counts as no body, whatever
 * its content type is, because clients send the header with every request. Other kinds are refused before they are
 * read. Plugins may add kinds for their own routes.
 *
 * A body is limited before anything is made from it: by its bytes, by the number and depth of its values, and by the
 * bytes that its sender and all senders have in work at the same time. The limit is lowest for senders without a token.
 * @param options.limitBytes API_BODY_LIMIT_MB in bytes
 */
export function registerBodyParsing(
  app: FastifyInstance,
  { timers, limitBytes }: { readonly timers: Timers; readonly limitBytes: number },
): void {
  app.removeAllContentTypeParsers()
  addBodyHooks(app, timers)
  const open = createBodyDoor(limitBytes)
  const turns = createTurns({ most: TURNS })
  const parseJson = app.getDefaultJsonParser('error', 'error')
  const parsedJson = (request: FastifyRequest, text: string) =>
    new Promise<unknown>((resolve, reject) => {
      void parseJson(request, text, (error, parsed) => (error ? reject(error) : resolve(parsed)))
    })
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { most, share } = open(request, limitBytes)
    const bounds = createJsonBounds()
    const chunks = await readBytes(payload, most, share, bounds)
    const size = chunks.reduce((sum, { length }) => sum + length, 0)
    if (size === 0) return undefined
    if (size > TURN_BYTES) request.endBodyTurn = await takeTurn(turns, request)
    const text = Buffer.concat(chunks.splice(0), size).toString('utf8')
    // Other requests get their turn between the reading and the parsing.
    if (text.length > LONG_TEXT) await letOthersRun()
    const body = await parsedJson(request, text)
    requireExactNumbers(text, bounds)
    if (text.length > LONG_TEXT) await letOthersRun()
    return body
  })
  // Such a body is never long: a launch with many values is JSON.
  app.addContentTypeParser(FORM_TYPE, async (request: FastifyRequest, payload: IncomingMessage) => {
    const { most, share } = open(request, SHORT_BYTES)
    const text = Buffer.concat(await readBytes(payload, most, share, null)).toString('utf8')
    if (text.trim() === '') return undefined
    if (!isJsonText(text)) return formFields(text)
    const bounds = createJsonBounds()
    bounds.take(Buffer.from(text))
    const body = await parsedJson(request, text)
    requireExactNumbers(text, bounds)
    return body
  })
  app.addContentTypeParser('*', (request, _payload, done) => {
    if (request.headers['content-length'] === '0') done(null, undefined)
    else done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE())
  })
}

/** Every body of any kind has a time limit for its arrival, and an end of its share and turn. */
function addBodyHooks(app: FastifyInstance, timers: Timers): void {
  // A client that sends half a body and then nothing would keep its connection for ever. Uploads have a limit of their
  // own.
  app.addHook('preParsing', async ({ raw }, _reply, payload) => {
    if (isMultipart(raw) || !hasBody(raw)) return payload
    const stop = timers.after(WHOLE_BODY_MS, () => answerStalledRequest(raw.socket))
    payload.once('end', stop).once('close', stop)
    return payload
  })
  app.decorateRequest('bodyShare', null)
  app.decorateRequest('endBodyTurn', null)
  // This hook also runs when nobody reads the answer. By then the work is done.
  app.addHook('onSend', async (request) => {
    request.bodyShare?.close()
    request.bodyShare = null
    request.endBodyTurn?.()
    request.endBodyTurn = null
  })
  // The framework would close the connection of a refused body. The answer would then be lost for a client that still
  // sends. `unread-bodies.ts` handles the bytes that nobody read.
  app.addHook('onError', async (request, reply) => {
    if (request.bodyShare) reply.removeHeader('connection')
  })
}

/**
 * Makes the function that begins a body: with the bytes that it may have, at most `kindBytes`, and with the share of its
 * sender. It throws FST_ERR_CTP_BODY_TOO_LARGE when the body says that it is longer.
 */
function createBodyDoor(limitBytes: number) {
  const strangers = createBodyShares(STRANGERS_SHARES)
  const users = createBodyShares({ ofOne: MAX_LARGE_OF_ONE * limitBytes, ofAll: MAX_LARGE_OF_ALL * limitBytes })
  const mostOf = ({ caller, routeOptions }: FastifyRequest): number => {
    if (!caller) return Math.min(STRANGERS_BYTES, limitBytes)
    return routeOptions.config.longBody ? limitBytes : Math.min(SHORT_BYTES, limitBytes)
  }
  return (request: FastifyRequest, kindBytes: number): { readonly most: number; readonly share: BodyShare } => {
    const most = Math.min(mostOf(request), kindBytes)
    const share = (request.caller ? users : strangers).open(senderOf(request))
    request.bodyShare = share
    if (Number(request.headers['content-length'] ?? 0) > most) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE()
    return { most, share }
  }
}

function senderOf({ caller, ip }: FastifyRequest): string {
  return caller ? `${caller.type}/${caller.username}` : networkOf(ip)
}

/**
 * Waits for the turn of a long body. The returned function ends it. The others wait as bytes: what is made from a body
 * (its text, its values, the copy for the check, the stored texts) needs many times its bytes.
 */
async function takeTurn(turns: Turns, request: FastifyRequest): Promise<() => void> {
  const endTurn = await turns.take('', senderOf(request))
  const letHeapGrow = keepHeapSmall()
  return () => {
    letHeapGrow()
    endTurn()
  }
}

/**
 * @param bounds the limits of a JSON text; null: the body is not JSON
 * @throws FST_ERR_CTP_BODY_TOO_LARGE, TooLargeError, InvalidInputError, TooManyError; the rest of the body is not read
 */
function readBytes(
  payload: Readable,
  most: number,
  share: BodyShare,
  bounds: { take(chunk: Buffer): void } | null,
): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  let size = 0
  return new Promise((resolve, reject) => {
    const stop = () => payload.off('data', take).off('end', end).off('error', fail).off('close', broken)
    const fail = (error: Error) => {
      stop()
      chunks.length = 0
      reject(error)
    }
    const broken = () => fail(new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH())
    const take = (chunk: Buffer) => {
      size += chunk.length
      try {
        if (size > most) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE()
        share.take(chunk.length)
        bounds?.take(chunk)
      } catch (error) {
        return fail(error as Error)
      }
      chunks.push(chunk)
    }
    const end = () => {
      stop()
      resolve(chunks)
    }
    payload.on('data', take).on('end', end).on('error', fail).on('close', broken)
  })
}

/**
 * A number that JavaScript cannot store exactly would reach the playbook as another number. So it is refused. The error
 * names its place. In a long body it names only the number, because the search for the place takes time.
 * @throws InvalidInputError
 */
function requireExactNumbers(text: string, bounds: JsonBounds): void {
  const numeral = bounds.inexactNumber()
  if (numeral === null) return
  const path = text.length > LONG_TEXT ? undefined : findInexactNumber(text)?.path
  const shown = numeral.length > 60 ? `${numeral.slice(0, 60)}…` : numeral
  throw new InvalidInputError(
    'inexact_number',
    `${path === undefined ? 'The number' : `${path}: the number`} ${shown} cannot be kept digit by digit; send it as a text`,
    { number: shown, ...(path === undefined ? {} : { path }) },
  )
}

function isMultipart({ headers }: IncomingMessage): boolean {
  return headers['content-type']?.startsWith('multipart/form-data') ?? false
}

/** A missing body is not read, so its end would never be seen. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
