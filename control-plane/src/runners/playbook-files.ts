/** The playbook folder as blobs by hash, for runners that get their files sent. */
export interface PlaybookFiles {
  /**
   * Manifest of the folder as it is now; unchanged files are not read again.
   * @throws InvalidInputError when the folder is missing, holds something that may not travel, or is over RTE_FILES_MAX_MB
   */
  manifest(): Promise<{ readonly sha256: string; readonly json: Buffer }>
  /**
   * Opens the blob of that hash: a manifest made before, or a file of it. Null when it cannot be had any more
   * because the file changed or went away.
   */
  open(
    manifestSha256: string,
    sha256: string,
  ): Promise<{ readonly size: number; readonly content: AsyncIterable<Buffer> } | null>
}
