import { type JobOrder, type Manifest, parseJson, parseManifest, ProtocolError } from '@holdfast/protocol'
import * as v from 'valibot'
import { forEachLimited } from '../for-each-limited.js'
import { removeTree } from '../host/remove-tree.js'
import type { JobKey } from '../spool/job-folder.js'
import { type BlobCache, UnusableBlobError } from './blob-cache.js'
import { type BlobTransfer, TransferError } from './blob-transfer.js'
import { makeWorkFolder, type WorkFolder } from './work-folder.js'

const LOOKS_AT_ONCE = 8

const extravarsSchema = v.record(v.string(), v.unknown())
/** The extra variables of a job. */
export type Extravars = v.InferOutput<typeof extravarsSchema>

/** Which job the inputs are for, and where they come from. */
export interface GatherOptions {
  readonly key: JobKey
  readonly order: JobOrder
  readonly cache: BlobCache
  readonly transfer: BlobTransfer
  /** Where the work folder shall be made; null when the playbooks are on this host. */
  readonly workFolder: WorkFolder | null
  readonly signal: AbortSignal
}

/**
 * Gets everything that a job needs beside its order, and makes the work folder. It asks the control plane only for what is not
 * in the cache.
 * @returns the extra variables
 * @throws BlobGoneError, TransferError, the system's error, or the signal's reason
 */
export async function gatherInputs(options: GatherOptions): Promise<Extravars> {
  const { order, cache, workFolder } = options
  const extravarsHash = 'sha256' in order.extravars ? order.extravars.sha256 : null
  const heads = [...(workFolder ? [order.manifest_sha256] : []), ...(extravarsHash ? [extravarsHash] : [])]
  const release = cache.hold(heads)
  try {
    await fetchLacking(options, heads)
    if (workFolder) await gatherFiles(options, workFolder)
    if (!extravarsHash) return 'inline' in order.extravars ? order.extravars.inline : {}
    const bytes = await readHeld(options, extravarsHash)
    return readBlob(bytes, 'extra variables', (text) => parseJson(extravarsSchema, text))
  } finally {
    release()
    // These variables belong to one job, so nobody asks for them a second time.
    if (extravarsHash) cache.drop(extravarsHash)
  }
}

async function gatherFiles(options: GatherOptions, workFolder: WorkFolder): Promise<void> {
  const { order, cache } = options
  const manifest = readBlob(await readHeld(options, order.manifest_sha256), 'list of files', parseManifest)
  const hashes = new Set(manifest.files.map((file) => file.sha256))
  const release = cache.hold(hashes)
  try {
    await fetchLacking(options, hashes)
    await makeAgainWhenUnusable(options, manifest, workFolder)
  } finally {
    release()
  }
}

/** Asks once more for files that somebody has removed from the cache or changed there. */
async function makeAgainWhenUnusable(
  options: GatherOptions,
  manifest: Manifest,
  workFolder: WorkFolder,
): Promise<void> {
  try {
    await makeWorkFolder(workFolder, manifest, options.cache)
  } catch (error) {
    if (!(error instanceof UnusableBlobError)) throw error
    const hashes = new Set(manifest.files.map((file) => file.sha256))
    for (const sha256 of hashes) options.cache.doubt(sha256)
    await fetchLacking(options, hashes)
    await removeTree(workFolder.path)
    await makeWorkFolder(workFolder, manifest, options.cache)
  }
}

async function readHeld(options: GatherOptions, sha256: string): Promise<Buffer> {
  const { cache } = options
  try {
    return await cache.read(sha256)
  } catch (error) {
    if (!(error instanceof UnusableBlobError)) throw error
    cache.doubt(sha256)
    await fetchLacking(options, [sha256])
    return cache.read(sha256)
  }
}

async function fetchLacking({ key, cache, transfer, signal }: GatherOptions, hashes: Iterable<string>): Promise<void> {
  const lacking: string[] = []
  await forEachLimited(hashes, LOOKS_AT_ONCE, async (sha256) => {
    if (!(await cache.has(sha256))) lacking.push(sha256)
  })
  await transfer.fetch(key, lacking, signal)
  signal.throwIfAborted()
}

function readBlob<Content>(bytes: Buffer, what: string, parse: (text: string) => Content): Content {
  try {
    return parse(bytes.toString('utf8'))
  } catch (error) {
    if (error instanceof ProtocolError) throw new TransferError(`the job's ${what} cannot be used: ${error.message}`)
    throw error
  }
}
