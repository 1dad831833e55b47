import type { HashedFile } from './file-hashes.js'

/**
 * How many manifests are kept for runners that still fetch files of an older one, and how many files they may list
 * together.
 */
const MAX_MANIFESTS = 64
const MAX_FILES = 400_000

/** A manifest as it was sent, with the files that it lists. */
export interface KeptManifest {
  readonly root: string
  readonly json: Buffer
  readonly files: ReadonlyMap<string, HashedFile>
}

/** The newest manifests, by their hashes. */
export class KeptManifests {
  private readonly kept = new Map<string, KeptManifest>()
  private files = 0

  get(sha256: string): KeptManifest | undefined {
    return this.kept.get(sha256)
  }

  /** The oldest manifests are removed to make room. The new one always stays. */
  add(sha256: string, manifest: KeptManifest): void {
    this.files += manifest.files.size - (this.kept.get(sha256)?.files.size ?? 0)
    this.kept.delete(sha256)
    this.kept.set(sha256, manifest)
    for (const [oldest, { files }] of this.kept) {
      if (oldest === sha256 || (this.kept.size <= MAX_MANIFESTS && this.files <= MAX_FILES)) break
      this.kept.delete(oldest)
      this.files -= files.size
    }
  }
}
