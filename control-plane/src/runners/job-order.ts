import { createHash } from 'node:crypto'
import { type JobOrder, MAX_INLINE_BYTES } from '@holdfast/protocol'
import { extravarsOf, playbookOf } from '../jobs/playbook.js'
import type { OfferableJob } from '../store/dispatch.js'

/** An order and, when the extra variables are too large for it, their JSON as a blob. */
export interface PreparedOrder {
  readonly order: JobOrder
  readonly extravarsBlob: Buffer | null
}

/**
 * Builds the order of a job for a runner.
 * @param sealed the job's secrets, sealed to that runner
 */
export function prepareOrder(
  job: OfferableJob,
  manifestSha256: string,
  outputLimitBytes: number,
  sealed: string | null,
): PreparedOrder {
  const playbook = playbookOf(job)
  const extravars = extravarsOf(job)
  const json = Buffer.from(JSON.stringify(extravars), 'utf8')
  const isLarge = json.length > MAX_INLINE_BYTES
  return {
    extravarsBlob: isLarge ? json : null,
    order: {
      job_id: job.id,
      run_id: job.run_id,
      form: job.form,
      playbook: playbook.playbook,
      playbook_sub_path: playbook.playbookSubPath,
      inventory: playbook.inventory,
      tags: playbook.tags,
      limit: playbook.limit,
      check: playbook.check,
      diff: playbook.diff,
      verbose: playbook.verbose,
      allow_jinja: playbook.allowJinjaInExtravars,
      extravars: isLarge
        ? { sha256: createHash('sha256').update(json).digest('hex'), size: json.length }
        : { inline: extravars },
      manifest_sha256: manifestSha256,
      sealed,
      output_limit_bytes: outputLimitBytes,
    },
  }
}
