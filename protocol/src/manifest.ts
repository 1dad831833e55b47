import * as v from 'valibot'
import { ProtocolError } from './errors.js'
import { countSchema, parseJson, sha256Schema } from './parse.js'

/** Longest path and longest target of a link, in characters. */
const MAX_PATH_CHARACTERS = 4096
/** Most entries of one kind. */
const MAX_ENTRIES = 200_000

const pathSchema = v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_PATH_CHARACTERS))
/** Who may read, write and run: no owner, no set-id bit, no sticky bit. */
const modeSchema = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0o777))

/**
 * A playbook folder as a list of what is in it. The manifest travels and is kept as a blob named by the SHA-256 of its
 * JSON text, as every file is: a change of one file costs one file and the manifest. So this hash also stands for every
 * mode, link and empty folder.
 */
export const manifestSchema = v.object({
  version: v.literal(1),
  files: v.pipe(
    v.array(v.object({ path: pathSchema, sha256: sha256Schema, size: countSchema, mode: modeSchema })),
    v.maxLength(MAX_ENTRIES),
  ),
  /** Symbolic links that stay inside the folder. */
  links: v.pipe(v.array(v.object({ path: pathSchema, target: pathSchema })), v.maxLength(MAX_ENTRIES)),
  /** The folders, also the empty ones. */
  folders: v.pipe(v.array(v.object({ path: pathSchema, mode: modeSchema })), v.maxLength(MAX_ENTRIES)),
})

/** The files, links and folders of a playbook folder. */
export type Manifest = v.InferOutput<typeof manifestSchema>

/** Characters that no path may have: other systems read the backslash as `/`, and the rest breaks lines and names. */
const UNSAFE = /[\\\p{Cc}\p{Cs}]/u

/**
 * True for a relative path that stays below its root when it is resolved: no `..`, no empty parts, no control characters.
 */
export function isSafeRelativePath(path: string): boolean {
  if (path === '' || path.startsWith('/') || UNSAFE.test(path)) return false
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
}

/** A path in the playbook folder as people write it: a `./` before it and a `/` after it are taken off. Null: it is no such path. */
export function plainPlaybookPath(path: string): string | null {
  const plain = path.replace(/^(\.\/)+/, '').replace(/\/+$/, '')
  return isSafeRelativePath(plain) ? plain : null
}

/**
 * True when a link at `path` to `target` stays inside the folder, wherever other links of the folder lead. `..` may stand
 * only at the beginning of the target. After a name it would climb from another place if that name is a link, too.
 */
export function isSafeLink(path: string, target: string): boolean {
  if (!isSafeRelativePath(path) || target === '' || target.startsWith('/') || UNSAFE.test(target)) return false
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const names = parts.findIndex((part) => part !== '..')
  const climbs = names === -1 ? parts.length : names
  const depth = path.split('/').length - 1
  return climbs <= depth && !parts.slice(climbs).includes('..')
}

/**
 * Reads a manifest and refuses every path that could leave the folder, doubles, and what lies below a link or a file.
 * @throws ProtocolError `bad_message`
 */
export function parseManifest(text: string): Manifest {
  const manifest = parseJson(manifestSchema, text)
  const links = new Set(manifest.links.map((link) => link.path))
  const files = new Set(manifest.files.map((file) => file.path))
  const seen = new Set<string>()
  for (const { path } of [...manifest.files, ...manifest.links, ...manifest.folders]) {
    if (!isSafeRelativePath(path)) refuse(`unsafe path ${JSON.stringify(path)}`)
    if (seen.has(path)) refuse(`double path ${JSON.stringify(path)}`)
    seen.add(path)
    for (const parent of foldersAround(path)) {
      if (links.has(parent)) refuse(`${JSON.stringify(path)} lies below a link`)
      if (files.has(parent)) refuse(`${JSON.stringify(path)} lies below a file`)
    }
  }
  for (const { path, target } of manifest.links) {
    if (!isSafeLink(path, target)) refuse(`unsafe link ${JSON.stringify(path)}`)
  }
  return manifest
}

/** The folders above a path, the nearest one first: `a/b/c` is in `a/b` and in `a`. */
export function foldersAround(path: string): string[] {
  const folders: string[] = []
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) folders.push(path.slice(0, end))
  return folders
}

function refuse(problem: string): never {
  throw new ProtocolError('bad_message', `manifest: ${problem}`)
}
