import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { MAX_INLINE_BYTES, plainUploadName } from '@holdfast/protocol'
import { argumentBytes, extravarsOf, isSequence, playbookOf } from '../../jobs/job-port.js'
import type { OfferableJob } from '../../store/jobs/dispatch.js'
import type { JobFile } from '../../store/uploads/uploads.js'
import { descriptionOf } from '../../uploads/description.js'
import type { PreparedOrder } from '../held/prepared-order.js'
import type { OrderSecrets } from './order-secrets.js'
import type { JobFileNeeds } from '../files/playbook-part.js'

/** Most characters of the JSON in which an order says where its secrets stood. */
const MAX_MASKED_CHARACTERS = 65_536

/** The parts of an order that come from the service and not from the job. */
export interface OrderSettings {
  readonly outputLimitBytes: number
  /** The folder of the uploads. Their paths in the extra variables begin with it. */
  readonly uploadPath: string
}

/** Which part of the playbook folder a job needs. */
export function fileNeedsOf(job: Pick<OfferableJob, 'form' | 'playbook'>): JobFileNeeds {
  const { playbook, playbookSubPath, inventory, playbookFiles } = playbookOf(job)
  const workingFolder = playbookSubPath ?? ''
  const fromRoot = (path: string) => posix.join(workingFolder, path)
  return {
    form: job.form,
    playbook: fromRoot(playbook),
    workingFolder,
    // An inventory with a comma is a list of hosts, not a file.
    inventories: inventory.filter((source) => !source.includes(',')).map(fromRoot),
    files: playbookFiles,
  }
}

/**
 * The files that the approval of a job covers: the files that the job gets. The approval of a parent job counts for its
 * child jobs, too. So it covers all files that jobs of the form may get.
 */
export function approvedNeedsOf(job: Pick<OfferableJob, 'form' | 'playbook' | 'parent_id' | 'job_type'>): JobFileNeeds {
  if (job.parent_id === null && !isSequence(job)) return fileNeedsOf(job)
  return { form: job.form, playbook: '', workingFolder: '', inventories: [], files: [''] }
}

/**
 * Builds the order of a job for a runner.
 * @param secrets the secrets of the job, sealed to that runner
 */
export function prepareOrder(
  job: OfferableJob,
  { files, secrets }: { readonly files: readonly JobFile[]; readonly secrets: OrderSecrets },
  manifestSha256: string,
  settings: OrderSettings,
): PreparedOrder {
  const playbook = playbookOf(job)
  // In place of a secret, the stored variable has a mask. A mask must never be used as a value.
  const all = Object.entries(extravarsOf(job))
  const open = all.filter(([name]) => !secrets.names.includes(name))
  const masked = Object.fromEntries(all.filter(([name]) => secrets.names.includes(name)))
  const extravars = Object.fromEntries(open)
  const json = Buffer.from(JSON.stringify(extravars), 'utf8')
  // Both are in the offer, which has a limit.
  const isLarge = json.length + argumentBytes(playbook) > MAX_INLINE_BYTES
  return {
    extravarsBlob: isLarge ? json : null,
    files,
    order: {
      job_id: job.id,
      run_id: job.run_id,
      form: job.form,
      playbook: playbook.playbook,
      playbook_sub_path: playbook.playbookSubPath,
      inventory: playbook.inventory,
      tags: playbook.tags,
      skip_tags: playbook.skipTags,
      limit: playbook.limit,
      of_form: playbook.ofForm,
      check: playbook.check,
      diff: playbook.diff,
      verbose: playbook.verbose,
      verbosity: playbook.verbosity,
      allow_jinja: playbook.allowJinjaInExtravars,
      image: playbook.executionImage,
      extravars: isLarge
        ? { sha256: createHash('sha256').update(json).digest('hex'), size: json.length }
        : { inline: extravars },
      uploads: files.map((file) => ({
        name: plainUploadName(file.original_name),
        placeholder: descriptionOf(file, settings.uploadPath).path,
        sha256: file.sha256,
        size: file.size,
      })),
      manifest_sha256: manifestSha256,
      sealed: secrets.sealed,
      output_limit_bytes: settings.outputLimitBytes,
      output_marks: true,
      launched: {
        user: job.user_name,
        user_type: job.user_type,
        time: job.start_time,
        // These paths only say where secrets stood. A job without secrets needs none of them.
        masked: JSON.stringify(masked).length > MAX_MASKED_CHARACTERS ? {} : masked,
      },
    },
  }
}
