import { UnavailableError, messageOf } from '../../errors.js'
import { failJob, mayRun, takeBackOutdated } from '../../jobs/job-port.js'
import type { OfferableJob } from '../../store/jobs/dispatch.js'
import { noteDetail } from '../../store/jobs/jobs.js'
import type { JobChanges } from '../held/job-changes.js'
import { isPassingFileError } from '../files/file-stamp.js'
import { jobDetailOf } from '../files/left-out.js'
import { approvedNeedsOf, fileNeedsOf } from './job-order.js'
import type { PlaybookFiles } from '../files/playbook-files.js'

/** A job and the hash of the manifest of its files. */
export interface JobWithFiles {
  readonly job: OfferableJob
  readonly manifest: string
}

/**
 * Adds to each job the manifest of its files as they are now. A job whose files cannot be used fails with that reason.
 * @throws UnavailableError when the folder cannot be read at the moment. That says nothing about the jobs, so they go
 *   on waiting
 */
export async function withFiles(
  dependencies: JobChanges & { readonly files: PlaybookFiles },
  jobs: readonly OfferableJob[],
): Promise<JobWithFiles[]> {
  const { store, clock, live, files, ends } = dependencies
  const ready: JobWithFiles[] = []
  const failed: { readonly id: number; readonly reason: string }[] = []
  const outdated: { readonly id: number; readonly manifest: string }[] = []
  const details: { readonly id: number; readonly detail: string | null }[] = []
  // They run at the same time, so that they share one walk through the folder.
  await Promise.all(
    jobs.map(async (job) => {
      try {
        // Both come from the same walk, so that the files that are compared are the files that are sent.
        const [sent, approved] = await Promise.all([
          files.manifest(fileNeedsOf(job)),
          job.approved_manifest === null ? null : files.manifest(approvedNeedsOf(job)),
        ])
        const detail = sent.leftOut.length === 0 ? null : jobDetailOf(sent.leftOut)
        if (approved === null || mayRun(job, approved.sha256)) {
          ready.push({ job, manifest: sent.sha256 })
          // A job that is offered again may have its detail already.
          if (detail !== job.detail) details.push({ id: job.id, detail })
        } else outdated.push({ id: job.id, manifest: approved.sha256 })
      } catch (error) {
        if (error instanceof UnavailableError || isPassingFileError(error)) throw error
        failed.push({ id: job.id, reason: messageOf(error) })
      }
    }),
  )
  if (failed.length > 0) {
    await store.write('runners.no_files', async (queries) => {
      for (const { id, reason } of failed) await failJob(queries, id, reason, clock.now())
    })
    live.changed('jobs')
    ends?.jobEnded()
  }
  await giveBackOutdated(dependencies, outdated)
  await noteDetails(dependencies, details)
  return ready.sort((one, other) => one.job.id - other.job.id)
}

/** Says in the jobs what of their files cannot travel. */
async function noteDetails(
  { store, live }: JobChanges,
  details: readonly { readonly id: number; readonly detail: string | null }[],
): Promise<void> {
  if (details.length === 0) return
  await store.write('runners.left_out', async (queries) => {
    for (const { id, detail } of details) await noteDetail(queries, id, detail)
  })
  live.changed('jobs')
}

/** Takes back the approval of jobs that were approved with other files. They are not offered. */
async function giveBackOutdated(
  { store, clock, live, ends }: JobChanges,
  outdated: readonly { readonly id: number; readonly manifest: string }[],
): Promise<void> {
  if (outdated.length === 0) return
  await store.write('runners.outdated', async (queries) => {
    for (const { id, manifest } of outdated) await takeBackOutdated(queries, id, manifest, clock.now())
  })
  live.changed('jobs')
  ends?.jobEnded()
}
