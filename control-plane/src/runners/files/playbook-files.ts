import type { JobFileNeeds } from './playbook-part.js'

/** The playbook folder as blobs by hash, for runners that get their files sent. */
export interface PlaybookFiles {
  /**
   * Manifest of the folder as it is now; unchanged files are not read again.
   * @param needs what the job says that it needs: the manifest lists only that part. Left out: everything that is for all
   * @throws InvalidInputError when the folder is missing, holds something that may not travel, is over RTE_FILES_MAX_MB, or
   *   keeps the job's playbook from its form
   */
  manifest(needs?: JobFileNeeds): Promise<{ readonly sha256: string; readonly json: Buffer }>
  /**
   * Opens the blob of that hash: a manifest made before, or a file of it. Null when it cannot be had any more
   * because the file changed or went away.
   */
  open(
    manifestSha256: string,
    sha256: string,
  ): Promise<{ readonly size: number; readonly content: AsyncIterable<Buffer> } | null>
}
