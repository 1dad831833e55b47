import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type Manifest, foldersAround } from '@holdfast/protocol'
import type { Clock } from '../../time/clock.js'
import { type HashedFile, READ_BYTES, createFileHashes, openStamped } from './file-hashes.js'
import { createFolderRulesReader, unreadRules } from './folder-rules.js'
import { refusal, walkFolder } from './folder-walk.js'
import { KeptManifests } from './kept-manifests.js'
import type { LeftOut } from './left-out.js'
import { requireTravels } from './needed-entries.js'
import type { MadeManifest, PlaybookFiles } from './playbook-files.js'
import { FOLDER_RULES_FILE, type FolderRules, type JobFileNeeds, partForJob } from './playbook-part.js'

/** How often a folder is walked again because a `.holdfast.yml` changed during the walk. */
const MAX_WALKS = 5

/** What one walk found in the folder. */
interface Walk {
  readonly root: string
  readonly files: readonly HashedFile[]
  readonly links: Manifest['links']
  readonly folders: Manifest['folders']
  readonly leftOut: readonly LeftOut[]
  readonly rules: readonly FolderRules[]
  /** The manifests that were made of this walk, by the needs of the job. */
  readonly made: Map<string, MadeManifest>
}

/**
 * The playbook folder (ANSIBLE_PATH) as blobs. These rules hold:
 *
 * - A manifest shows the folder as it was after the call began. A call during a walk gets the next walk, and shares it
 *   with all other calls that came in the meantime. So there is at most one walk that runs and one that waits.
 * - A job gets only the part that is for it (`playbook-part.ts`), and a blob only if its manifest lists it.
 * - What cannot travel is left out and reported. Only a job that names it is refused.
 * - A blob is opened only while its file is the one that was hashed. The runner checks the hash again.
 */
export function createPlaybookFolder(options: {
  readonly path: string
  /** RTE_FILES_MAX_MB in bytes. */
  readonly maxBytes: number
  readonly clock: Clock
  /** Learns what of the folder cannot travel, after each walk. */
  readonly report: { note(found: readonly LeftOut[]): void }
}): PlaybookFiles {
  const hashes = createFileHashes(() => options.clock.now())
  const rulesReader = createFolderRulesReader()
  const kept = new KeptManifests()
  let running: Promise<unknown> = Promise.resolve()
  let waiting: Promise<Walk> | null = null

  async function walkOnce(): Promise<Walk> {
    for (let walks = 0; walks < MAX_WALKS; walks += 1) {
      const found = await walkFolder(options.path, options.maxBytes)
      const { root, links, folders } = found
      const hashed = await hashes.hash(root, found.files)
      const leftOut = [...found.leftOut, ...hashed.leftOut]
      const rules = await rulesReader.read(root, hashed.files)
      if (!rules) continue
      options.report.note(leftOut)
      const all = [...rules, ...unreadRules([...leftOut, ...links, ...folders])]
      const { files } = hashed
      return { root, files, links: [...links], folders: [...folders], leftOut, rules: all, made: new Map() }
    }
    throw refusal(`a ${FOLDER_RULES_FILE} in it changes all the time while it is read`)
  }

  function nextWalk(): Promise<Walk> {
    waiting ??= running.then(() => {
      waiting = null
      const walk = walkOnce()
      running = walk.catch(() => undefined)
      return walk
    })
    return waiting
  }

  function manifestOf(walk: Walk, needs: JobFileNeeds | null): MadeManifest {
    const { files, manifest, leftOut } = listPart(walk, needs)
    const json = Buffer.from(JSON.stringify(manifest))
    const sha256 = createHash('sha256').update(json).digest('hex')
    kept.add(sha256, { root: walk.root, json, files: new Map(files.map((file) => [file.sha256, file])) })
    return { sha256, json, leftOut }
  }

  return {
    async manifest(needs) {
      const walk = await nextWalk()
      const key = JSON.stringify(needs ?? null)
      const made = walk.made.get(key) ?? manifestOf(walk, needs ?? null)
      walk.made.set(key, made)
      return made
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
      // It is opened again when the content is read. So a caller who never reads leaves no file open.
      await handle.close()
      return { size: file.stamp.size, content: contentOf(path, file) }
    },
  }
}

/** @throws InvalidInputError when the job may not have its playbook, or names what cannot travel */
function listPart(walk: Walk, needs: JobFileNeeds | null) {
  const part = partForJob(walk.rules, needs)
  requireTravels(part.named, walk.links, walk.leftOut)
  const isPart = ({ path }: { readonly path: string }) => part.has(path)
  const files = walk.files.filter(isPart)
  const links = walk.links.filter(isPart)
  const around = new Set([...files, ...links].flatMap(({ path }) => foldersAround(path)))
  const manifest: Manifest = {
    version: 1,
    files: files.map(({ path, sha256, stamp: { size, mode } }) => ({ path, sha256, size, mode })),
    links,
    folders: walk.folders.filter((folder) => isPart(folder) || around.has(folder.path)),
  }
  return { files, manifest, leftOut: walk.leftOut.filter(isPart) }
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
