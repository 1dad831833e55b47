import * as v from 'valibot'
import { MAX_ARGUMENT_BYTES, MAX_WORD_CHARACTERS } from './command-words.js'
import { MAX_SEALED_CHARACTERS } from './job-secrets.js'
import { countSchema, jobIdSchema, runIdSchema, sha256Schema } from './parse.js'
import { MAX_JOB_UPLOADS, jobUploadSchema } from './upload.js'

/** Name of a container image, such as `registry.example.com/team/ansible:2.19`. Never an option of a command line. */
export const imageNameSchema = v.pipe(
  v.string(),
  v.maxLength(500),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/, 'is no name of a container image'),
)

/** Most inventories of a job. */
const MAX_INVENTORIES = 1000

const shortText = v.pipe(v.string(), v.maxLength(MAX_WORD_CHARACTERS, `at most ${MAX_WORD_CHARACTERS} characters long`))
/** Hosts, patterns or tags: one argument of ansible-playbook. */
const listText = v.pipe(
  v.string(),
  v.maxBytes(MAX_ARGUMENT_BYTES, `at most ${MAX_ARGUMENT_BYTES} bytes long: ansible takes no longer argument`),
)

/** Where a job's extra variables are: in the order itself, or in the blob of that hash. Sealed variables are elsewhere. */
export const extravarsSourceSchema = v.union([
  v.object({ inline: v.record(v.string(), v.unknown()) }),
  v.object({ sha256: sha256Schema, size: countSchema }),
])

/** Who launched a job and when. A database that lost the job can make its row again from it. */
export const launchedSchema = v.object({
  user: shortText,
  user_type: v.pipe(v.string(), v.maxLength(20)),
  /** Milliseconds since the epoch. */
  time: countSchema,
  /** Variables that hold a secret, with a mask in its place. The variables of the order leave them out. */
  masked: v.record(v.string(), v.unknown()),
})
/** Who launched a job and when. */
export type Launched = v.InferOutput<typeof launchedSchema>

/** Everything a runner needs to know to run one job. It is what the agent claims, durably. */
export const jobOrderSchema = v.object({
  job_id: jobIdSchema,
  run_id: runIdSchema,
  form: shortText,
  playbook: shortText,
  playbook_sub_path: v.nullable(shortText),
  inventory: v.pipe(
    v.array(listText),
    v.maxLength(MAX_INVENTORIES, `at most ${MAX_INVENTORIES} inventories; one of them may be a list of hosts`),
  ),
  tags: v.nullable(listText),
  skip_tags: v.nullable(listText),
  limit: v.nullable(listText),
  /**
   * Texts that the author of the form wrote, and not a user of it. Such an inventory may be any file of the playbook folder,
   * and such a limit may name a file.
   */
  of_form: v.object({ inventory: v.boolean(), limit: v.boolean() }),
  check: v.boolean(),
  diff: v.boolean(),
  verbose: v.boolean(),
  /** How many `-v`, if that is more than `verbose` asks for. */
  verbosity: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(5)),
  allow_jinja: v.boolean(),
  /** Image of the container in which the playbook runs; null: what the runner says. */
  image: v.nullable(imageNameSchema),
  extravars: extravarsSourceSchema,
  /** Files that users uploaded for this job. */
  uploads: v.pipe(v.array(jobUploadSchema), v.maxLength(MAX_JOB_UPLOADS)),
  /** Hash of the manifest of the playbook folder. */
  manifest_sha256: sha256Schema,
  /** Secrets (`JobSecrets` as JSON), sealed to the runner's key and bound to this run; null when the job needs none. */
  sealed: v.nullable(v.pipe(v.string(), v.maxLength(MAX_SEALED_CHARACTERS))),
  /** Most bytes of output that are stored for this job. After that there is one warning line, and the playbook goes on. */
  output_limit_bytes: countSchema,
  /** Whether the runner writes a mark into the output after each event. The control plane takes the marks out again. */
  output_marks: v.boolean(),
  launched: launchedSchema,
})

/** Everything a runner needs to know to run one job. */
export type JobOrder = v.InferOutput<typeof jobOrderSchema>

/** Whether a text is the name of a container image. */
export function isImageName(text: string): boolean {
  return v.is(imageNameSchema, text)
}
