import type { Clock } from '../../clock.js'
import { UnavailableError, messageOf } from '../../errors.js'
import { type JobEnds, failJob, mayRun, takeBackOutdated } from '../../jobs/job-port.js'
import type { LiveEvents } from '../../live/live-events.js'
import type { OfferableJob } from '../../store/jobs/dispatch.js'
import type { Store } from '../../store/store.js'
import { isPassing } from '../files/file-stamp.js'
import { approvedNeedsOf, fileNeedsOf } from './job-order.js'
import type { PlaybookFiles } from '../files/playbook-files.js'

export interface OfferFilesDependencies {
  readonly store: Store
  readonly clock: Clock
  readonly live: LiveEvents
  readonly ends?: JobEnds | undefined
  readonly files: PlaybookFiles
}

/** A job with the hash of the manifest of its files. */
export interface JobWithFiles {
  readonly job: OfferableJob
  readonly manifest: string
}

/**
 * The jobs with the manifests of their files as they are now. Those whose files cannot be had have failed with that reason.
 * @throws UnavailableError when the folder cannot be read just now: that says nothing about the jobs, which wait on
 */
export async function withFiles(
  dependencies: OfferFilesDependencies,
  jobs: readonly OfferableJob[],
): Promise<JobWithFiles[]> {
  const { store, clock, live, files, ends } = dependencies
  const ready: JobWithFiles[] = []
  const failed: { readonly id: number; readonly reason: string }[] = []
  const outdated: { readonly id: number; readonly manifest: string }[] = []
  // Asked for at once: they share one look at the folder.
  await Promise.all(
    jobs.map(async (job) => {
      try {
        // Both of the same look, so that what is compared is what is sent.
        const [sent, approved] = await Promise.all([
          files.manifest(fileNeedsOf(job)),
          job.approved_manifest === null ? null : files.manifest(approvedNeedsOf(job)),
        ])
        if (approved === null || mayRun(job, approved.sha256)) ready.push({ job, manifest: sent.sha256 })
        else outdated.push({ id: job.id, manifest: approved.sha256 })
      } catch (error) {
        if (error instanceof UnavailableError || isPassing(error)) throw error
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
  return ready.sort((one, other) => one.job.id - other.job.id)
}

/** Jobs that were approved with another playbook folder: they are not offered. */
async function giveBackOutdated(
  { store, clock, live, ends }: OfferFilesDependencies,
  outdated: readonly { readonly id: number; readonly manifest: string }[],
): Promise<void> {
  if (outdated.length === 0) return
  await store.write('runners.outdated', async (queries) => {
    for (const { id, manifest } of outdated) await takeBackOutdated(queries, id, manifest, clock.now())
  })
  live.changed('jobs')
  ends?.jobEnded()
}
