// Puts what `tsc -b` built, and the packages it uses, into few files per program: starting a program is mostly finding and
// reading modules, 1,300 of them for `holdfast serve`. A bundle is an addition: bin/ runs it while it is of the build that
// is there, and else the build itself (start-bundle.js), so that `tsc -b` is all that it takes after an edit.
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { fingerprintOf, isOfThisBuild } from './start-bundle.js'

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

/** Packages in the form of CommonJS ask for modules of Node.js by `require`. */
const REQUIRE =
  "import { createRequire as createRequireHere } from 'node:module'; const require = createRequireHere(import.meta.url);"

/** What else goes into a bundle: packages, and how it is made. */
const TOOLS = ['package-lock.json', 'scripts/lib/bundle.mjs', 'scripts/lib/start-bundle.js']
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
    await build({
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
      banner: { js: REQUIRE },
      sourcemap: true,
      sourcesContent: false,
      // A comment with one letter beyond Latin-1 makes the engine hold, copy and scan all of its file at twice the size.
      minifyWhitespace: true,
      legalComments: 'linked',
      lineLimit: 200,
      logLevel: 'warning',
    })
    copyFileSync('scripts/lib/start-bundle.js', join(made, 'start.js'))
    writeFileSync(join(made, 'made-of.json'), JSON.stringify({ builds: builtFrom, tools }))
    rmSync(bundle, { recursive: true, force: true })
    renameSync(made, bundle)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

/** @param {string} bundle */
function isCurrent(bundle) {
  const madeOf = JSON.parse(readFileSync(join(bundle, 'made-of.json'), 'utf8'))
  return madeOf.tools === tools && isOfThisBuild(bundle, madeOf.builds)
}
