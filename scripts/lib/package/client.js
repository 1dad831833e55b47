// holdfast-client: the command line alone, without the service, for Debian and for npm.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { buildDeb, packageTree } from './debian.js'
import { oneStringWidth } from '../one-string-width.mjs'
import { run } from './node-runtime.js'
import { licencesOf } from './parts.js'

const NAME = 'holdfast-client'

/** That of Debian 13. The service needs a newer one, and its package brings one along. */
const OLDEST_NODE = '>=20.19.0'

/** What only the host of the service can do, by module: the functions that commands call there. */
const SERVICE_ONLY = {
  'main.js': ['startControlPlane'],
  'check/check.js': ['checkControlPlane'],
  'backup/make-backup.js': ['makeBackup'],
  'backup/restore-backup.js': ['restoreBackup'],
  'store/open-store.js': ['openStoreBeside', 'holdDatabase'],
  'auth/sign-in/passwords.js': ['createPasswords'],
}

/** In place of the service: what is here is the client. */
function withoutService(names) {
  const functions = names.map(
    (name) => `
export async function ${name}() {
  throw new SettingsError('This is the client alone. The service comes with the package holdfast.')
}`,
  )
  return `import { SettingsError } from '@holdfast/protocol'\n${functions.join('\n')}\n`
}

/** Packages in the form of CommonJS ask for modules of Node.js by `require`. */
const REQUIRE =
  "import { createRequire as createRequireHere } from 'node:module'; const require = createRequireHere(import.meta.url);"

export async function buildClient(given) {
  const { folder, output, version } = given
  const made = join(folder, 'npm')
  mkdirSync(join(made, 'dist'), { recursive: true })
  await build({
    entryPoints: { main: 'control-plane/dist/cli/main.js' },
    outdir: join(made, 'dist'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minifySyntax: true,
    banner: { js: REQUIRE },
    logLevel: 'warning',
    plugins: [{ name: 'no service', setup: leaveServiceOut }, oneStringWidth],
  })
  cpSync('control-plane/bin/holdfast.js', join(made, 'bin/holdfast.js'), { recursive: true })
  const launcher = readFileSync(join(made, 'bin/holdfast.js'), 'utf8')
  const [checks = ''] = launcher.split('// The bundle starts')
  const start = "const { main } = await import('../dist/main.js')\n\nawait main()\n"
  writeFileSync(join(made, 'bin/holdfast.js'), checks.replace('existsSync, ', '') + start)
  const { license } = JSON.parse(readFileSync('control-plane/package.json', 'utf8'))
  const manifest = {
    name: 'holdfast',
    version,
    description: 'The command line of the job service Holdfast: launch forms, follow jobs, approve runners.',
    license,
    type: 'module',
    engines: { node: OLDEST_NODE },
    bin: { holdfast: './bin/holdfast.js' },
    files: ['bin', 'dist', 'LICENSES'],
  }
  writeFileSync(join(made, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  writeFileSync(join(made, 'LICENSES'), licencesOf('control-plane'))
  run('npm', ['pack', '--silent', '--pack-destination', output, made])
  buildClientDeb(made, given)
}

function buildClientDeb(made, given) {
  const tree = packageTree(join(given.folder, NAME))
  for (const part of ['bin', 'dist', 'package.json']) tree.copy(join(made, part), `usr/lib/${NAME}/${part}`)
  tree.write('usr/bin/holdfast', `#!/bin/sh\nexec node /usr/lib/${NAME}/bin/holdfast.js "$@"\n`, 0o755)
  tree.copy(join(made, 'LICENSES'), `usr/share/doc/${NAME}/copyright`)
  buildDeb({
    tree,
    name: NAME,
    architecture: 'all',
    given,
    fields: {
      Depends: 'nodejs',
      Description:
        'command line of the job service Holdfast\n' +
        ' Launches forms, follows jobs and approves runners over REST.\n' +
        ' It says at its start if the Node.js of the host is too old.',
    },
  })
}

function leaveServiceOut(builder) {
  const unused = new Set(Object.keys(SERVICE_ONLY))
  for (const [module, names] of Object.entries(SERVICE_ONLY)) {
    const filter = new RegExp(`control-plane/dist/${module.replace('.', '\\.')}$`)
    const stub = { contents: withoutService(names), loader: 'js', resolveDir: 'control-plane/dist' }
    builder.onLoad({ filter }, () => {
      unused.delete(module)
      return stub
    })
  }
  // A module that was moved would be in the client with all that it needs.
  builder.onEnd(() => ({ errors: [...unused].map((module) => ({ text: `the client imports no ${module} any more` })) }))
}
