import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PageFiles, readPageFiles } from '../../../control-plane/src/http/pages/page-files.js'
import { pageRoutes } from '../../../control-plane/src/http/pages/pages.js'
import { routeApp } from './route-app.js'

const SCRIPT = 'x'.repeat(1000)
const TEMPLATE =
  '<base {{base}}>{{preloads}}<script {{script}}><style {{style}}><icon {{icon}}><worker {{worker}}>{{odd}}'
let folder: string
let pages: PageFiles
let app: Awaited<ReturnType<typeof routeApp>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-pages-'))
  await mkdir(join(folder, 'assets'))
  const files: Record<string, string | Buffer> = {
    'manifest.json': JSON.stringify({
      pages: [
        { pattern: '/jobs/:id', scripts: ['a.js', 'b.js'] },
        { pattern: '/', scripts: [] },
      ],
      page: { script: 'main.js', worker: 'worker.js', style: 'main.css', icon: 'icon.svg' },
      files: [
        { name: 'main.js', type: 'text/javascript' },
        { name: 'tiny.svg', type: 'image/svg+xml' },
      ],
    }),
    'index.html': TEMPLATE,
    'assets/main.js': SCRIPT,
    'assets/main.js.br': 'short',
    'assets/main.js.gz': gzipSync(SCRIPT),
    'assets/tiny.svg': 'abcde',
    // As long as the file itself, and longer.
    'assets/tiny.svg.br': '12345',
    'assets/tiny.svg.gz': gzipSync('abcde'),
  }
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  const read = await readPageFiles(folder, '/ba&se')
  if (!read) throw new Error('no pages')
  pages = read
  app = await routeApp(pageRoutes(pages))
})
afterAll(async () => {
  await app.app.close()
  await rm(folder, { recursive: true })
})

test('a page names its files below the base URL, and what the browser loads at once', async () => {
  const [job, start] = pages.documents.map(({ html }) => html.toString())
  const asset = (name: string) => `/ba&#38;se/assets/${name}`
  expect(start).toBe(
    `<base /ba&#38;se><script ${asset('main.js')}><style ${asset('main.css')}><icon ${asset('icon.svg')}>` +
      `<worker ${asset('worker.js')}>`,
  )
  for (const name of ['a.js', 'b.js']) expect(job).toContain(`<link rel="modulepreload" href="${asset(name)}" />`)
})

test('a page is sent once, and then only when it changed', async () => {
  const page = await app.call('GET', '/jobs/7')
  expect(page).toMatchObject({ status: 200, headers: { 'cache-control': 'no-cache' } })
  expect(page.headers['content-type']).toMatch(/^text\/html/)
  const etag = String(page.headers.etag)
  expect(etag).toBe(`"${createHash('sha256').update(page.bytes).digest('base64url').slice(0, 22)}"`)
  const again = await app.call('GET', '/jobs/7', { headers: { 'if-none-match': etag } })
  expect([again.status, again.bytes.length]).toEqual([304, 0])
  expect((await app.call('GET', '/jobs/7', { headers: { 'if-none-match': '"old"' } })).status).toBe(200)
})

test.each([
  ['default-src', "'none'"],
  ['script-src', "'self'"],
  ['style-src', "'self'"],
  ['connect-src', "'self'"],
  ['img-src', "'self' data:"],
  ['worker-src', "'self'"],
  ['font-src', "'self'"],
  ['form-action', "'self'"],
  ['base-uri', "'none'"],
  ['frame-ancestors', "'none'"],
  ['require-trusted-types-for', "'script'"],
  ['trusted-types', 'holdfast-worker'],
])('the policy of a page says %s %s', async (name, value) => {
  for (const path of ['/', '/assets/main.js']) {
    const { headers } = await app.call('GET', path)
    expect(String(headers['content-security-policy']).split('; ')).toContain(`${name} ${value}`)
    expect(headers).toMatchObject({ 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer' })
  }
})

test.each([
  ['br, gzip', 'br'],
  ['gzip, br', 'br'],
  ['gzip', 'gzip'],
  ['GZIP;q=0.5', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['br;q=0.000, gzip; q=0.0', undefined],
  ['br;q=0.01', 'br'],
  ['identity', undefined],
  ['brotli', undefined],
  ['', undefined],
])('a file is sent in the best encoding that the browser takes: %j', async (accepted, encoding) => {
  const { headers, bytes } = await app.call('GET', '/assets/main.js', { headers: { 'accept-encoding': accepted } })
  expect(headers['content-encoding']).toBe(encoding)
  expect(headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
  })
  expect(headers['content-type']).toMatch(/^text\/javascript/)
  const length = { br: 5, gzip: gzipSync(SCRIPT).length }[encoding ?? ''] ?? SCRIPT.length
  expect(bytes).toHaveLength(length)
})

test('a file that is not shorter when it is compressed is sent as it is', async () => {
  const { headers, bytes } = await app.call('GET', '/assets/tiny.svg', { headers: { 'accept-encoding': 'br, gzip' } })
  expect([headers['content-encoding'], bytes.toString()]).toEqual([undefined, 'abcde'])
})

test('without a build there are no pages, and any other failure is told', async () => {
  expect(await readPageFiles(join(folder, 'none'), '')).toBeNull()
  await expect(readPageFiles(join(folder, 'index.html'), '')).rejects.toThrow('ENOTDIR')
})
