import { readlinkSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { onTestFinished, vi } from 'vitest'

/**
 * From now on until the end of the test: the paths of the files and folders of this process that were brought to the disk,
 * in this order. What was not is lost when the power fails.
 */
export async function syncedFiles(): Promise<readonly string[]> {
  const probe = await open(tmpdir(), 'r')
  const handles = Object.getPrototypeOf(probe) as Pick<FileHandle, 'sync' | 'datasync'>
  await probe.close()
  const synced: string[] = []
  for (const kind of ['sync', 'datasync'] as const) {
    const real = handles[kind] as (this: FileHandle) => Promise<void>
    const spy = vi.spyOn(handles, kind).mockImplementation(function (this: FileHandle) {
      synced.push(readlinkSync(`/proc/self/fd/${this.fd}`))
      return real.call(this)
    })
    onTestFinished(() => spy.mockRestore())
  }
  return synced
}
