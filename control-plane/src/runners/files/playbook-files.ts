import type { LeftOut } from './left-out.js'
import type { JobFileNeeds } from './playbook-part.js'

/** The manifest of the part of the folder that a job gets. */
export interface MadeManifest {
  readonly sha256: string
  readonly json: Buffer
  /** What of the part cannot travel. */
  readonly leftOut: readonly LeftOut[]
}

/** The playbook folder as blobs by hash, for runners that get their files from the control plane. */
export interface PlaybookFiles {
  /**
   * The manifest of the folder as it is now. Unchanged files are not read again.
   * @param needs what the job needs: the manifest lists only that part. If it is left out, the manifest lists
   * everything that is for all jobs
   * @throws InvalidInputError when the folder is missing or larger than RTE_FILES_MAX_MB, when it does not give the
   * job's playbook to its form, or when something that the job names cannot travel
   */
  manifest(needs?: JobFileNeeds): Promise<MadeManifest>
  /**
   * Opens the blob with that hash: an earlier manifest, or a file of it. Null when the file has changed or gone since.
   */
  open(
    manifestSha256: string,
    sha256: string,
  ): Promise<{ readonly size: number; readonly content: AsyncIterable<Buffer> } | null>
}
