// What all packages for Debian have in common: the tree, the fields, the scripts of the package manager.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run } from './node-runtime.js'

/** The folder with the scripts of each package, and what they share. */
const SCRIPTS = 'scripts/lib/package'

/**
 * A tree that becomes a package.
 * @param {string} folder where it is made
 */
export function packageTree(folder) {
  const at = (path) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    return join(folder, path)
  }
  return {
    folder,
    /** Copies a file or a folder of the clone. */
    copy: (from, to, filter) => cpSync(from, at(to), { recursive: true, dereference: true, filter }),
    write: (path, text, mode = 0o644) => {
      writeFileSync(at(path), text)
      chmodSync(at(path), mode)
    },
  }
}

/**
 * Builds one package. Its scripts lie in the folder of its name; `@PACKAGE@` in them is the name.
 * @param {{ tree: ReturnType<typeof packageTree>, name: string, architecture: string, fields: Record<string, string>,
 *   scripts?: string, conffiles?: string[], given: { output: string, version: string, revision: string } }} what
 */
export function buildDeb({ tree, name, architecture, fields, scripts, conffiles = [], given }) {
  const { output, version, revision } = given
  const control = {
    Package: name,
    Version: `${version}-${revision}`,
    Architecture: architecture,
    Maintainer: 'Holdfast <holdfast@localhost>',
    Section: 'admin',
    Priority: 'optional',
    'Installed-Size': String(Math.ceil(bytesBelow(tree.folder) / 1024)),
    ...fields,
  }
  const lines = Object.entries(control).map(([key, value]) => `${key}: ${value}\n`)
  tree.write('DEBIAN/control', lines.join(''))
  if (conffiles.length > 0) tree.write('DEBIAN/conffiles', conffiles.map((path) => `${path}\n`).join(''))
  for (const script of scripts ? readdirSync(join(SCRIPTS, scripts)) : []) {
    tree.write(`DEBIAN/${script}`, readFileSync(join(SCRIPTS, scripts, script), 'utf8'), 0o755)
  }
  const path = join(output, `${name}_${version}-${revision}_${architecture}.deb`)
  run('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z5', '--build', tree.folder, path])
}

/**
 * A library that something compiled here needs, as a field `Depends` says it. An older one may lack what the compiler
 * of this machine has used of it, so that what is built on a newer Debian is refused on an older one.
 * @param {string} library the name of its package
 */
export function asHere(library) {
  const { status, stdout } = spawnSync('dpkg-query', ['--show', '--showformat', '${Version}\n', library], {
    encoding: 'utf8',
  })
  const upstream = /^(?:\d+:)?(\d+(?:\.\d+)?)/.exec(stdout)?.[1]
  if (status !== 0 || !upstream) throw new Error(`the package ${library} is not installed here`)
  return `${library} (>= ${upstream})`
}

function bytesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
}

/** A unit of docs/systemd, for where the packages lie. */
export function packagedUnit(file) {
  return readFileSync(join('docs/systemd', file), 'utf8')
    .replace(/^# .* Copy to .*\n/, (line) => line.replace(/ Copy to .*$/m, ''))
    .replaceAll('/opt/holdfast-runner/node_modules/@holdfast/runner-agent/', '/usr/lib/holdfast-runner/')
    .replaceAll('/opt/holdfast-runner/node_modules/.bin/holdfast-runner', '/usr/bin/holdfast-runner')
    .replaceAll('/opt/holdfast/node_modules/.bin/holdfast', '/usr/bin/holdfast')
}
