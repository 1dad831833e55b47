import * as v from 'valibot'
import { ProtocolError } from './errors.js'
import { countSchema, parseJson, sha256Schema } from './parse.js'

/**
 * A playbook folder as a list of its files. The manifest travels and is kept as a blob named by the SHA-256 of its
 * JSON text, as every file is: a change of one file costs one file and the manifest.
 */
export const manifestSchema = v.object({
  version: v.literal(1),
  files: v.pipe(
    v.array(
      v.object({
        path: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)),
        sha256: sha256Schema,
        size: countSchema,
        executable: v.boolean(),
      }),
    ),
    v.maxLength(200_000),
  ),
  /** Symbolic links that stay inside the folder. */
  links: v.pipe(v.array(v.object({ path: v.string(), target: v.string() })), v.maxLength(200_000)),
})

/** The files of a playbook folder. */
export type Manifest = v.InferOutput<typeof manifestSchema>

/** True for a relative path that stays below its root when it is resolved: no `..`, no empty parts, no NUL. */
export function isSafeRelativePath(path: string): boolean {
  if (path === '' || path.startsWith('/') || path.includes('\0') || path.includes('\\')) return false
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
  if (!isSafeRelativePath(path) || target === '' || target.startsWith('/') || target.includes('\0')) return false
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const names = parts.findIndex((part) => part !== '..')
  const climbs = names === -1 ? parts.length : names
  const depth = path.split('/').length - 1
  return climbs <= depth && !parts.slice(climbs).includes('..')
}

/**
 * Reads a manifest and refuses every path that could leave the folder, doubles, and files below a link.
 * @throws ProtocolError `bad_message`
 */
export function parseManifest(text: string): Manifest {
  const manifest = parseJson(manifestSchema, text)
  const links = new Set(manifest.links.map((link) => link.path))
  const seen = new Set<string>()
  for (const { path } of [...manifest.files, ...manifest.links]) {
    if (!isSafeRelativePath(path))
      throw new ProtocolError('bad_message', `manifest: unsafe path ${JSON.stringify(path)}`)
    if (seen.has(path)) throw new ProtocolError('bad_message', `manifest: double path ${JSON.stringify(path)}`)
    seen.add(path)
    const parts = path.split('/')
    for (let depth = 1; depth < parts.length; depth += 1) {
      const parent = parts.slice(0, depth).join('/')
      if (links.has(parent))
        throw new ProtocolError('bad_message', `manifest: ${JSON.stringify(path)} lies below a link`)
    }
  }
  for (const { path, target } of manifest.links) {
    if (!isSafeLink(path, target))
      throw new ProtocolError('bad_message', `manifest: unsafe link ${JSON.stringify(path)}`)
  }
  return manifest
}
