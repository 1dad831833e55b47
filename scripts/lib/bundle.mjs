// Puts what `tsc -b` built, and the packages it uses, into few files per program: starting a program is mostly finding and
// reading modules, 1,300 of them for `holdfast serve`. A bundle is an addition: bin/ runs it while it is of the build that
// is there, and else the build itself (start-bundle.js), so that `tsc -b` is all that it takes after an edit.
//
// Each module of a bundle is a function in a file of its own, which load-bundle.js reads. So the engine can be given the code
// that it has compiled once, which is done here as well (warm-up.mjs).
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build, transform } from 'esbuild'
import { oneStringWidth } from './one-string-width.mjs'
import { fingerprintOf, isOfThisBuild } from './start-bundle.js'
import { warmUp } from './warm-up.mjs'

/**
 * Each program, the entry points it has in its build, and the builds that it is made of (paths as seen from its bundle). An
 * entry point keeps its name and lies at the top, as deep as the module did: what it finds beside itself stays where it is.
 */
const PROGRAMS = [
  {
    folder: 'control-plane',
    entries: {
      main: 'cli/main.js',
      'check-worker': 'forms/sandbox/check-worker.js',
      'jq-worker': 'sources/jq-worker.js',
    },
    builds: ['../dist', '../client/dist', '../../protocol/dist', '../../protocol/host/dist'],
  },
  {
    folder: 'runner-agent',
    entries: { cli: 'cli.js' },
    builds: ['../dist', '../../protocol/dist', '../../protocol/host/dist'],
  },
]

/** Packages with files beside their code (native modules, WebAssembly), and large ones that few services ever load. */
const LEFT_OUT = ['sqlite3', '@node-rs/argon2', '@jitl/*', 'jq-wasm', 'dayjs', 'tedious', 'oracledb', 'mongodb', 'ssh2']

/** What a module of a bundle is given by load-bundle.js: as a module in the form of CommonJS, and the rest of `import`. */
const GIVEN = 'exports, require, module, importHere, hereUrl, resolveUrl'

/** What else goes into a bundle: packages, and how it is made. */
const TOOLS = [
  'package-lock.json',
  ...['bundle.mjs', 'start-bundle.js', 'load-bundle.js', 'warm-up.mjs', 'warm-up-run.mjs', 'one-string-width.mjs'].map(
    (name) => join('scripts/lib', name),
  ),
]
const tools = fingerprintOf(TOOLS)

for (const { folder, entries, builds } of PROGRAMS) {
  const bundle = join(folder, 'bundle')
  if (existsSync(join(bundle, 'made-of.json')) && isCurrent(bundle)) continue
  const made = `${bundle}.new`
  rmSync(made, { recursive: true, force: true })
  try {
    // Looked at before the modules are: what is built meanwhile makes the bundle an old one.
    const builtFrom = Object.fromEntries(
      builds.map((path) => [`${path}/.tsbuildinfo`, fingerprintOf([join(bundle, path, '.tsbuildinfo')])]),
    )
    const { outputFiles, metafile } = await build({
      entryPoints: Object.fromEntries(
        Object.entries(entries).map(([name, path]) => [name, join(folder, 'dist', path)]),
      ),
      outdir: made,
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      external: LEFT_OUT,
      plugins: [oneStringWidth],
      entryNames: '[name]-[hash]',
      write: false,
      metafile: true,
      // In the text, so that the second step makes one map of both.
      sourcemap: 'inline',
      sourcesContent: false,
      // A comment with one letter beyond Latin-1 makes the engine hold, copy and scan all of its file at twice the size.
      minifyWhitespace: true,
      legalComments: 'linked',
      lineLimit: 200,
      logLevel: 'warning',
    })
    mkdirSync(made)
    await writeModules(made, outputFiles)
    writeEntries(made, metafile.outputs)
    for (const part of ['start', 'load']) copyFileSync(`scripts/lib/${part}-bundle.js`, join(made, `${part}.js`))
    writeFileSync(join(made, 'made-of.json'), JSON.stringify({ builds: builtFrom, tools }))
    await warmUp(folder, made)
    rmSync(bundle, { recursive: true, force: true })
    renameSync(made, bundle)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

/**
 * Writes what was bundled: each module as a function, its map, and the licences.
 * @param {string} made
 * @param {import('esbuild').OutputFile[]} outputFiles
 */
async function writeModules(made, outputFiles) {
  const texts = new Map(outputFiles.map(({ path, text }) => [basename(path), text]))
  for (const [name, text] of texts) {
    if (name.endsWith('.txt')) writeFileSync(join(made, name), text)
    if (!name.endsWith('.js')) continue
    const source = text.replace(/\bimport\("([^"]+)"\)/g, (_, path) =>
      path.startsWith('./') ? `Promise.resolve().then(()=>require("${path}"))` : `importHere("${path}")`,
    )
    const { code, map, warnings } = await transform(source, {
      format: 'cjs',
      platform: 'node',
      target: 'node20',
      define: { 'import.meta.url': 'hereUrl', 'import.meta.resolve': 'resolveUrl' },
      banner: `(function(${GIVEN}){"use strict";`,
      footer: '})',
      sourcefile: name,
      sourcemap: 'external',
      sourcesContent: false,
      minifyWhitespace: true,
      lineLimit: 200,
    })
    // Such as a word of `import.meta` that is not given.
    if (warnings.length > 0) throw new Error(`${name}: ${warnings.map(({ text }) => text).join(', ')}`)
    writeFileSync(join(made, name), code)
    writeFileSync(join(made, `${name}.map`), map)
  }
}

/**
 * Writes the files that are run or imported by their names. They give what the module of that entry point gives.
 * @param {string} made
 * @param {import('esbuild').Metafile['outputs']} outputs
 */
function writeEntries(made, outputs) {
  for (const [path, { entryPoint, exports }] of Object.entries(outputs)) {
    const name = basename(path)
    const entry = /^(.+)-\w{8}\.js$/.exec(name)?.[1]
    if (!entryPoint || !isEntry(entryPoint)) continue
    const given = exports.length > 0 ? `export const { ${exports.join(', ')} } = ` : ''
    writeFileSync(join(made, `${entry}.js`), `import { load } from './load.js'\n\n${given}load('./${name}')\n`)
  }
}

/** @param {string} path as seen from here */
function isEntry(path) {
  return PROGRAMS.some(({ folder, entries }) =>
    Object.values(entries).some((entry) => join(folder, 'dist', entry) === path),
  )
}

/** @param {string} bundle */
function isCurrent(bundle) {
  const madeOf = JSON.parse(readFileSync(join(bundle, 'made-of.json'), 'utf8'))
  return madeOf.tools === tools && isOfThisBuild(bundle, madeOf.builds)
}
