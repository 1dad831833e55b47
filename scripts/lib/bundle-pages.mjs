// Makes the files of the pages (control-plane/web/dist/pages): scripts and styles with the hash of their content in the
// name, each also compressed, and a manifest that tells the control plane what there is. It does nothing when the pages
// are of these sources. It also writes how large they are: sizes.json.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { usedOperations } from './used-operations.mjs'

const WEB = 'control-plane/web'
const PAGES = join(WEB, 'dist/pages')
const MADE = `${PAGES}.new`

const SCRIPTS = ['bundle-pages.mjs', 'used-operations.mjs'].map((name) => join('scripts/lib', name))

const TYPES = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Makes the pages, if they are not of these sources. */
async function bundlePages() {
  const fingerprint = fingerprintOfSources()
  if (fingerprintOfPages() === fingerprint) return
  const { build } = await import('esbuild')
  rmSync(MADE, { recursive: true, force: true })
  mkdirSync(join(MADE, 'assets'), { recursive: true })
  try {
    const { metafile } = await build({
      entryPoints: {
        main: join(WEB, 'src/main.tsx'),
        worker: join(WEB, 'src/live/shared-worker.ts'),
        matcher: join(WEB, 'src/log/pattern-worker.ts'),
        style: join(WEB, 'style/main.css'),
      },
      outdir: join(MADE, 'assets'),
      entryNames: '[name]-[hash]',
      chunkNames: 'part-[hash]',
      bundle: true,
      splitting: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      target: ['chrome111', 'firefox115', 'safari16.4'],
      jsx: 'automatic',
      jsxImportSource: 'preact',
      plugins: [usedOperations(join(WEB, 'src'))],
      metafile: true,
      logLevel: 'warning',
    })
    const addresses = await addressesOfPages(build)
    await shrinkScripts(Object.keys(metafile.outputs))
    const scripts = new Set(Object.values(addresses).map(({ script }) => script))
    const sizes = sizesOf(metafile.outputs, scripts)
    const pages = Object.entries(addresses).map(([name, { path, script }]) => ({
      pattern: path,
      scripts: scriptsOfPage(metafile.outputs, name, script),
    }))
    const icon = withHash('icon.svg', readFileSync(join(WEB, 'icon.svg')))
    writeFileSync(join(MADE, 'assets', icon.name), icon.bytes)
    const names = readdirSync(join(MADE, 'assets'))
    const named = (begin, end) => names.find((name) => name.startsWith(`${begin}-`) && name.endsWith(end))
    for (const name of names) compress(join(MADE, 'assets', name))
    const page = {
      script: named('main', '.js'),
      worker: named('worker', '.js'),
      matcher: named('matcher', '.js'),
      style: named('style', '.css'),
      icon: icon.name,
    }
    writeFileSync(join(MADE, 'index.html'), readFileSync(join(WEB, 'index.html')))
    const files = names.map((name) => ({ name, type: TYPES[extname(name)] }))
    writeFileSync(join(MADE, 'manifest.json'), JSON.stringify({ fingerprint, pages, page, files }))
    writeFileSync(join(MADE, 'sizes.json'), JSON.stringify(sizes))
    rmSync(PAGES, { recursive: true, force: true })
    renameSync(MADE, PAGES)
  } finally {
    rmSync(MADE, { recursive: true, force: true })
  }
}

/** Writes scripts anew, shorter. Terser saves three percent of what esbuild leaves, also of the compressed bytes. */
async function shrinkScripts(paths) {
  const { minify } = await import('terser')
  const options = { module: true, ecma: 2020, compress: { passes: 2 } }
  for (const path of paths.filter((name) => name.endsWith('.js'))) {
    const { code } = await minify(readFileSync(path, 'utf8'), options)
    writeFileSync(path, code)
  }
}

/** The table of pages, which the pages and the control plane share. */
async function addressesOfPages(build) {
  const { outputFiles } = await build({
    entryPoints: [join(WEB, 'src/routes.ts')],
    bundle: true,
    format: 'esm',
    write: false,
  })
  const code = Buffer.from(outputFiles[0].contents).toString('base64')
  const { PAGES: table } = await import(`data:text/javascript;base64,${code}`)
  return table
}

const JOB_PAGE = 'src/pages/job/job-page.tsx'

/** The sources of a script besides `main.tsx`, by its name in `routes.ts`. */
function sourcesOf(script) {
  if (script === 'start') return []
  return script === 'job' ? [JOB_PAGE] : [`src/pages/${script}-pages.ts`]
}

/**
 * The scripts that a page needs at its begin, without the first one. The browser is told all of them at once. Otherwise it
 * would find them one after another, when it reads the script that imports them.
 */
function scriptsOfPage(outputs, name, script) {
  const tabs = name === 'jobTab' ? ['src/pages/job/other-tabs.ts'] : []
  const sources = ['src/main.tsx', ...sourcesOf(script), ...tabs]
  const [first, ...all] = new Set(sources.flatMap((source) => [...withImports(outputs, outputOf(outputs, source))]))
  return all.filter((path) => path !== first).map((path) => basename(path))
}

function withHash(name, bytes) {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 8).toUpperCase()
  const end = extname(name)
  return { name: `${basename(name, end)}-${hash}${end}`, bytes }
}

function compress(path) {
  const bytes = readFileSync(path)
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  writeFileSync(`${path}.br`, brotliCompressSync(bytes))
}

/**
 * What a browser loads, in bytes, compressed with gzip.
 *
 * @param {Record<string, import('esbuild').Metafile['outputs'][string]>} outputs
 * @param {Iterable<string>} scripts their names in `routes.ts`
 */
function sizesOf(outputs, scripts) {
  const gzipped = new Map(Object.keys(outputs).map((path) => [path, gzipSync(readFileSync(path), { level: 9 }).length]))
  const sum = (paths) => [...paths].reduce((all, path) => all + (gzipped.get(path) ?? 0), 0)
  const ofSource = (source) => [...withImports(outputs, outputOf(outputs, source))]
  const start = new Set([...ofSource('src/main.tsx'), ...ofSource('src/live/shared-worker.ts')])
  // A job opens with its output. Its other parts are loaded when somebody opens them; allScripts counts them.
  const ofScript = (script) =>
    sum(
      sourcesOf(script)
        .flatMap(ofSource)
        .filter((path) => !start.has(path)),
    )
  const others = [...scripts].filter((script) => !['start', 'job'].includes(script))
  const isScript = (path) => path.endsWith('.js')
  return {
    start: sum(start),
    jobPage: ofScript('job'),
    ...Object.fromEntries(others.map((script) => [`${script}Pages`, ofScript(script)])),
    allScripts: sum([...gzipped.keys()].filter(isScript)),
    styles: sum([...gzipped.keys()].filter((path) => path.endsWith('.css'))),
  }
}

/** The path of the output that a source is the entry of. */
function outputOf(outputs, source) {
  return Object.keys(outputs).find((path) => outputs[path]?.entryPoint === join(WEB, source)) ?? fail(source)
}

/** An output and everything that it imports at once. @returns a set of paths */
function withImports(outputs, path, found = new Set()) {
  if (found.has(path)) return found
  found.add(path)
  for (const one of outputs[path]?.imports ?? []) {
    if (!one.external && one.kind !== 'dynamic-import') withImports(outputs, one.path, found)
  }
  return found
}

function fail(source) {
  throw new Error(`nothing imports ${source} by itself, so its size is not known`)
}

function fingerprintOfSources() {
  const hash = createHash('sha256')
  const client = 'control-plane/client/dist'
  const builtClient = readdirSync(client).filter((name) => name.endsWith('.js'))
  const sources = ['src', 'style'].flatMap((folder) =>
    readdirSync(join(WEB, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  const others = [join(WEB, 'index.html'), join(WEB, 'icon.svg'), 'package-lock.json', ...SCRIPTS]
  for (const path of [...sources, ...others, ...builtClient.map((name) => join(client, name))].sort()) {
    hash.update(path).update(readFileSync(path))
  }
  return hash.digest('hex')
}

function fingerprintOfPages() {
  const path = join(PAGES, 'manifest.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).fingerprint : null
}

await bundlePages()
