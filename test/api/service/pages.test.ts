import { request } from 'node:http'
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PAGES } from '../../../control-plane/web/src/routes.js'
import { type TestServer, startServer } from '../server.js'

/** The files of the web console, as the control plane sends them. */
let server: TestServer
beforeAll(async () => {
  server = await startServer({ settings: { BASE_URL: '/jobs-of-us' } })
})
afterAll(() => server.close())

/** As it came: `fetch` would take the compression away. */
function get(path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; bytes: Buffer }>((resolve, reject) => {
    request(`${server.url}${path}`, { headers }, (answer) => {
      const pieces: Buffer[] = []
      answer.on('data', (piece: Buffer) => pieces.push(piece))
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, bytes: Buffer.concat(pieces) }),
      )
      answer.on('error', reject)
    })
      .on('error', reject)
      .end()
  })
}

describe('the pages', () => {
  const PRELOAD = /<link rel="modulepreload" href="([^"]+)" \/>\s*/g

  test.each(Object.values(PAGES))('$path is answered with the page', async ({ path: pattern }) => {
    const answer = await get(pattern.replace(/:\w+/g, '7'))
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    const withoutScripts = (bytes: Buffer) => bytes.toString().replaceAll(PRELOAD, '')
    expect(withoutScripts(answer.bytes)).toBe(withoutScripts((await get('/')).bytes))
    expect((await get(pattern.replace(/:\w+/g, '8'))).bytes).toEqual(answer.bytes)
  })

  test('a page names all scripts that it needs at its beginning, so that the browser loads them at once', async () => {
    const named = async (path: string) =>
      [...(await get(path)).bytes.toString().matchAll(PRELOAD)].map(([, address]) =>
        String(address).slice('/jobs-of-us'.length),
      )
    const imported = async (path: string) => {
      const code = (await get(path)).bytes.toString()
      return [...code.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)].map(([, name]) => `/assets/${name}`)
    }
    const main = /src="\/jobs-of-us(\/assets\/main-[^"]+)"/.exec((await get('/jobs')).bytes.toString())?.[1] ?? ''
    const [list, job, tab, others] = await Promise.all(['/jobs', '/jobs/7', '/jobs/7/tasks', '/runners'].map(named))
    expect(list).toEqual(expect.arrayContaining(await imported(main)))
    for (const page of [job, tab, others]) {
      expect(page).toEqual(expect.arrayContaining(list ?? []))
      for (const path of page ?? []) expect(page).toEqual(expect.arrayContaining(await imported(path)))
    }
    expect(tab).toEqual(expect.arrayContaining(job ?? []))
    expect([job, tab, others].map((page) => new Set(page).size)).toEqual([job, tab, others].map((page) => page?.length))
    expect(new Set([list, job, tab, others].map(String)).size).toBe(4)
  })

  test('the headers of a page allow scripts, requests and frames only of this service', async () => {
    const { headers } = await get('/jobs')
    const policy = String(headers['content-security-policy'])
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types holdfast-worker',
    ]) {
      expect(policy.split('; ')).toContain(rule)
    }
    expect(policy).not.toContain('unsafe')
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    })
  })

  test('an unchanged page is not sent again', async () => {
    const first = await get('/jobs')
    const again = await get('/jobs', { 'if-none-match': String(first.headers.etag) })
    expect([again.status, again.bytes.length]).toEqual([304, 0])
  })

  test('its files are below the base URL, are cached for ever, and are sent compressed if the client accepts that', async () => {
    const html = (await get('/')).bytes.toString()
    expect(html).toContain('data-base="/jobs-of-us"')
    const files = [...html.matchAll(/(?:src|href|data-worker|data-matcher)="\/jobs-of-us(\/assets\/[^"]+)"/g)].map(
      ([, path]) => String(path),
    )
    expect(files.length).toBeGreaterThan(4)
    for (const path of files) {
      const plain = await get(path)
      expect([path, plain.status, plain.headers['content-encoding']]).toEqual([path, 200, undefined])
      expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable')
      const brotli = await get(path, { 'accept-encoding': 'gzip, br' })
      if (brotli.headers['content-encoding'] === 'br') expect(brotliDecompressSync(brotli.bytes)).toEqual(plain.bytes)
      const gzip = await get(path, { 'accept-encoding': 'gzip, br;q=0' })
      if (gzip.headers['content-encoding'] === 'gzip') expect(gunzipSync(gzip.bytes)).toEqual(plain.bytes)
      const isShorter = gzipSync(plain.bytes, { level: 9 }).length < plain.bytes.length
      expect([path, gzip.headers['content-encoding']]).toEqual([path, isShorter ? 'gzip' : undefined])
    }
  })

  test.each(['/nowhere', '/jobs/1/2/3', '/index.html?to=/jobs'])(
    'a browser at an unknown path gets a page, and a program gets JSON: %s',
    async (path) => {
      const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
      const page = await get(path, { accept })
      expect([page.status, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
      expect(page.bytes.toString()).toContain('data-base="/jobs-of-us"')
      expect(page.headers).toMatchObject({ 'x-frame-options': 'DENY', 'cache-control': 'no-store' })
      expect(page.headers['content-security-policy']).toContain("default-src 'none'")
      for (const other of ['*/*', 'application/json, text/html;q=0.5']) {
        const answer = await get(path, { accept: other })
        expect([answer.status, JSON.parse(answer.bytes.toString())]).toMatchObject([404, { code: 'unknown_route' }])
      }
    },
  )

  test.each(['/assets/main.js', '/assets/', '/api/v2/nowhere', '/api/nowhere'])(
    'an unknown path stays a JSON answer with the same headers: %s',
    async (path) => {
      const answer = await get(path, { accept: 'text/html' })
      expect(answer.status).toBe(404)
      expect(JSON.parse(answer.bytes.toString())).toMatchObject({ code: 'unknown_route' })
      expect(answer.headers['x-content-type-options']).toBe('nosniff')
      expect(answer.headers['content-security-policy']).toContain("default-src 'self'")
    },
  )
})
