import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Manifest } from '@holdfast/protocol'
import type { Clock } from '../clock.js'
import { type HashedFile, READ_BYTES, createFileHashes, openStamped } from './file-hashes.js'
import { walkFolder } from './folder-walk.js'
import type { PlaybookFiles } from './playbook-files.js'

/** Manifests kept for the runners that still fetch files of an older one. */
const KEPT_MANIFESTS = 8

interface KeptManifest {
  readonly root: string
  readonly json: Buffer
  readonly files: ReadonlyMap<string, HashedFile>
}

/**
 * The playbook folder (ANSIBLE_PATH) as blobs. What must hold:
 *   - a manifest tells the folder as it was after the call began: a call during a walk gets the next walk, which it
 *     shares with every other call that came meanwhile, so there is at most one walk and one that waits;
 *   - a blob is only opened as long as its file is the very one that was hashed; the runner checks the hash once more.
 */
export function createPlaybookFolder(options: {
  readonly path: string
  /** RTE_FILES_MAX_MB in bytes. */
  readonly maxBytes: number
  readonly clock: Clock
}): PlaybookFiles {
  const hashes = createFileHashes(() => options.clock.now())
  const kept = new Map<string, KeptManifest>()
  let running: Promise<unknown> = Promise.resolve()
  let waiting: Promise<{ sha256: string; json: Buffer }> | null = null

  async function makeManifest(): Promise<{ sha256: string; json: Buffer }> {
    const { root, files: found, links } = await walkFolder(options.path, options.maxBytes)
    const files = await hashes.hash(root, found)
    const manifest: Manifest = {
      version: 1,
      files: files.map(({ path, sha256, stamp }) => ({
        path,
        sha256,
        size: stamp.size,
        executable: stamp.executable,
      })),
      links: [...links],
    }
    const json = Buffer.from(JSON.stringify(manifest))
    const sha256 = createHash('sha256').update(json).digest('hex')
    kept.delete(sha256)
    kept.set(sha256, { root, json, files: new Map(files.map((file) => [file.sha256, file])) })
    const oldest = kept.keys().next()
    if (kept.size > KEPT_MANIFESTS && !oldest.done) kept.delete(oldest.value)
    return { sha256, json }
  }

  return {
    manifest() {
      waiting ??= running.then(() => {
        waiting = null
        const walk = makeManifest()
        running = walk.catch(() => undefined)
        return walk
      })
      return waiting
    },
    async open(manifestSha256, sha256) {
      const manifest = kept.get(manifestSha256)
      if (!manifest) return null
      if (sha256 === manifestSha256) return { size: manifest.json.length, content: piecesOf(manifest.json) }
      const file = manifest.files.get(sha256)
      if (!file) return null
      const path = join(manifest.root, file.path)
      const handle = await openStamped(path, file.stamp)
      if (!handle) return null
      // Opened again when the content is asked for, so that one who never asks leaves no file open.
      await handle.close()
      return { size: file.stamp.size, content: contentOf(path, file) }
    },
  }
}

async function* contentOf(path: string, { stamp, path: name }: HashedFile): AsyncGenerator<Buffer> {
  const handle = await openStamped(path, stamp)
  if (!handle) throw new Error(`${name} changed before it could be sent`)
  try {
    for (let at = 0; at < stamp.size;) {
      const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, stamp.size - at))
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, at)
      if (bytesRead === 0) throw new Error(`${name} became shorter while it was sent`)
      yield buffer.subarray(0, bytesRead)
      at += bytesRead
    }
  } finally {
    await handle.close()
  }
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += READ_BYTES) yield bytes.subarray(at, at + READ_BYTES)
}
