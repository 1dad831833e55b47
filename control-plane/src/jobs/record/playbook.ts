import * as v from 'valibot'
import { vaultNeedsSchema } from '../../credentials/job/vault-needs.js'
import type { JobRow } from '../../store/jobs/jobs.js'

/** What the order of a job needs in addition to the extra variables. It is stored as JSON with the job. */
export const playbookSchema = v.object({
  playbook: v.string(),
  playbookSubPath: v.nullable(v.string()),
  inventory: v.array(v.string()),
  tags: v.nullable(v.string()),
  /** Only workflow nodes have these two. */
  skipTags: v.nullable(v.string()),
  verbosity: v.number(),
  limit: v.nullable(v.string()),
  /** Which settings the author of the form chose. */
  ofForm: v.object({ inventory: v.boolean(), limit: v.boolean() }),
  check: v.boolean(),
  diff: v.boolean(),
  verbose: v.boolean(),
  allowJinjaInExtravars: v.boolean(),
  /** Image of the container in which the playbook runs; null: what the runner says. */
  executionImage: v.nullable(v.string()),
  /**
   * Files and folders of the playbook folder that the form asks for. Null: the playbook's own folder names them, or the
   * job gets all files.
   */
  playbookFiles: v.nullable(v.array(v.string())),
  /** Names of credentials. */
  ansibleCredentials: v.nullable(v.string()),
  vaultCredentials: vaultNeedsSchema,
})

/** See {@link playbookSchema}. */
export type Playbook = v.InferOutput<typeof playbookSchema>

/** Bytes of the lists that become arguments of ansible-playbook. */
export function argumentBytes({ inventory, tags, skipTags, limit }: Playbook): number {
  return Buffer.byteLength([...inventory, tags ?? '', skipTags ?? '', limit ?? ''].join(''))
}

/** For a job that runs no playbook itself. */
export const NO_PLAYBOOK: Playbook = {
  playbook: '',
  playbookSubPath: null,
  inventory: [],
  tags: null,
  skipTags: null,
  limit: null,
  ofForm: { inventory: false, limit: false },
  check: false,
  diff: false,
  verbose: false,
  verbosity: 0,
  allowJinjaInExtravars: false,
  executionImage: null,
  playbookFiles: null,
  ansibleCredentials: null,
  vaultCredentials: null,
}

/** Values as they are kept as JSON. */
export const objectSchema = v.record(v.string(), v.unknown())
const namesSchema = v.record(v.string(), v.string())

/** The playbook settings of a stored job. */
export function playbookOf(job: Pick<JobRow, 'playbook'>): Playbook {
  return v.parse(playbookSchema, JSON.parse(job.playbook))
}

/** The extra variables of a stored job as they reach the playbook, with its own id. */
export function extravarsOf(job: Pick<JobRow, 'id' | 'extravars'>): Record<string, unknown> {
  return { ...v.parse(objectSchema, JSON.parse(job.extravars)), __jobid__: job.id }
}

/** The field values of a stored job; null when it was launched without any. */
export function fieldValuesOf(job: Pick<JobRow, 'raw_form_data'>): Record<string, unknown> | null {
  return job.raw_form_data === null ? null : v.parse(objectSchema, JSON.parse(job.raw_form_data))
}

/** Names of the credentials of a stored job by the variable in which the playbook gets them. */
export function credentialNamesOf(job: Pick<JobRow, 'credentials'>): Record<string, string> {
  return v.parse(namesSchema, JSON.parse(job.credentials))
}
