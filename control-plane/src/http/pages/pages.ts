import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { PageDocument, PageFile, PageFiles } from './page-files.js'

/**
 * The rights of a page. It runs only scripts of this service, sends requests only to this service, cannot be shown
 * inside another page, and makes no markup from texts. Its only policy (`holdfast-worker`) names the script that has
 * the event stream.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "worker-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types holdfast-worker',
].join('; ')

const PAGE_HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const

/** Names of files contain the hash of their content. So a browser never asks again for a file that it has loaded. */
const FOR_EVER = 'public, max-age=31536000, immutable'

/**
 * The pages of the console. A page is the same few bytes for everyone. It gets its content from the REST interface. The
 * pages differ only in the scripts that the browser is told to load at once.
 */
export function pageRoutes(pages: PageFiles): FastifyPluginAsync {
  return async (app) => {
    for (const page of pages.documents) {
      app.get(page.pattern, { schema: { hide: true } }, async (request, reply) => sendPage(page, request, reply))
    }
    for (const file of pages.files) {
      app.get(`/assets/${file.name}`, { schema: { hide: true } }, async (request, reply) =>
        sendFile(file, request, reply),
      )
    }
  }
}

/** Where people go who mistyped an address: the same page, which says so. Programs that want JSON get the error. */
export function sendUnknownPage(pages: PageFiles | null, request: FastifyRequest, reply: FastifyReply) {
  const [page] = pages?.documents ?? []
  const wantsPage = /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(request.headers.accept ?? '')
  if (!page || !wantsPage || (request.method !== 'GET' && request.method !== 'HEAD')) return null
  return reply.code(404).headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(page.html)
}

function sendPage({ html, etag }: PageDocument, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.headers({ ...PAGE_HEADERS, 'cache-control': 'no-cache', etag })
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  return reply.type('text/html; charset=utf-8').send(html)
}

function sendFile(file: PageFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const accepted = acceptedEncodings(request.headers['accept-encoding'])
  const chosen = file.encoded.find(({ encoding }) => accepted.has(encoding))
  reply.headers({ ...PAGE_HEADERS, 'cache-control': FOR_EVER, vary: 'accept-encoding' })
  if (chosen) reply.header('content-encoding', chosen.encoding)
  return reply.type(file.type).send(chosen?.bytes ?? file.plain)
}

/** The encodings that the header names and does not refuse with `q=0`. */
function acceptedEncodings(header: string | string[] | undefined): ReadonlySet<string> {
  const parts = [header ?? ''].flat().join(',').split(',')
  const named = parts.map((part) => part.trim().toLowerCase()).filter((part) => !/;\s*q=0(\.0*)?$/.test(part))
  return new Set(named.map((part) => part.split(';', 1)[0] ?? ''))
}
