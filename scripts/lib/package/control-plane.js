// holdfast: the control plane and its client with their Node.js, the unit, settings and examples.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { asHere, buildDeb, packagedUnit, packageTree } from './debian.js'
import { writeDrivers } from './drivers.js'
import { licencesOf } from './parts.js'

const HOME = 'usr/lib/holdfast'

/** Packages with files beside their code, which no bundle has, and what they need of each other when they run. */
const BESIDE = [
  '@fastify/swagger-ui',
  'sqlite3',
  'bindings',
  'file-uri-to-path',
  '@node-rs/argon2',
  '@jitl/quickjs-wasmfile-release-sync',
  '@jitl/quickjs-ffi-types',
  'jq-wasm',
  'dayjs',
]

export async function buildControlPlane(given) {
  const { runtime } = given
  const tree = packageTree(join(given.folder, 'holdfast'))
  // Compiled code is for the Node.js that made it, which is not the one of the package.
  const isWanted = (path) => !/\.(map|code)$/.test(path)
  tree.copy(runtime.program, `${HOME}/node`)
  tree.copy('control-plane/bundle', `${HOME}/bundle`, isWanted)
  tree.copy('control-plane/web/dist/pages', `${HOME}/web/dist/pages`)
  tree.copy('control-plane/package.json', `${HOME}/package.json`)
  for (const name of [...BESIDE, argonBinary()]) {
    tree.copy(join('node_modules', name), `${HOME}/node_modules/${name}`, isNeededToRun)
  }
  await writeDrivers(tree, HOME)
  tree.copy('control-plane/examples', 'usr/share/holdfast/examples')
  // Commands for this host, such as `holdfast admin`, work on the folder of the unit.
  const persistent = 'export PERSISTENT_PATH="${PERSISTENT_PATH:-/var/lib/holdfast}"'
  tree.write('usr/bin/holdfast', `#!/bin/sh\n${persistent}\nexec /${HOME}/node /${HOME}/bundle/launch.js "$@"\n`, 0o755)
  tree.write(`${HOME}/bundle/launch.js`, "import { main } from './main.js'\n\nawait main()\n")
  tree.write('usr/lib/systemd/system/holdfast.service', packagedUnit('holdfast.service'))
  tree.copy('scripts/lib/package/control-plane.env', 'etc/holdfast/control-plane.env')
  tree.copy(runtime.licence, 'usr/share/doc/holdfast/node-LICENSE')
  tree.write('usr/share/doc/holdfast/copyright', licencesOf('control-plane'))
  buildDeb({
    tree,
    name: 'holdfast',
    architecture: runtime.architecture,
    conffiles: ['/etc/holdfast/control-plane.env'],
    scripts: 'control-plane',
    given,
    fields: {
      Depends: `adduser, ${asHere('libstdc++6')}, ${asHere('libsqlite3-0')}`,
      Provides: 'holdfast-client',
      Conflicts: 'holdfast-client',
      Replaces: 'holdfast-client',
      Description:
        'runs Ansible playbooks from forms, as jobs that hold fast\n' +
        ' The control plane serves forms and jobs over REST and lets admins approve runners.\n' +
        ' The command line of its users is part of it.',
    },
  })
}

/** The package with the compiled half of argon2 for this machine. */
function argonBinary() {
  const names = [`linux-${process.arch}-gnu`, `linux-${process.arch}-musl`].map((end) => `@node-rs/argon2-${end}`)
  const found = names.find((name) => existsSync(join('node_modules', name)))
  if (!found) throw new Error(`none of ${names.join(', ')} is installed`)
  return found
}

/** Not what only compiles: sources, headers, objects. */
function isNeededToRun(path) {
  return !/\/(deps|src|test|tools|obj\.target|\.deps|node_addon_api_.*)$|\.(map|d\.ts|gyp|gypi|o|a|md)$|Makefile$|config\.gypi$/.test(
    path,
  )
}
