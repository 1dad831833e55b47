import * as v from 'valibot'
import { countSchema, sha256Schema } from './parse.js'

/** Most uploaded files of one job. */
export const MAX_JOB_UPLOADS = 100

/** Longest name that an uploaded file gets on a runner, in characters. */
const MAX_NAME_LENGTH = 100

/** Longest extension of a name, in characters. It stays when the name is cut. */
const MAX_EXTENSION_LENGTH = 16

/**
 * A file name that works on every file system and needs no quotes. It is neither hidden nor an option, and it cannot lead out
 * of its folder.
 */
export const uploadNameSchema = v.pipe(
  v.string(),
  v.maxLength(MAX_NAME_LENGTH),
  v.regex(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/, 'must be a plain file name'),
)

/** An uploaded file that belongs to a job. Its bytes travel in frames of the blob of its hash. */
export const jobUploadSchema = v.object({
  /** What the file is called on the runner. */
  name: uploadNameSchema,
  /** The placeholder of its path in the extra variables. The runner replaces it with the path on its own disk. */
  placeholder: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)),
  sha256: sha256Schema,
  size: countSchema,
})

/** An uploaded file that belongs to a job. */
export type JobUpload = v.InferOutput<typeof jobUploadSchema>

/** The name that a user's file gets on a runner's disk. It is as close to the original as possible; the extension stays. */
export function plainUploadName(original: string): string {
  const plain = original
    .replace(/[^A-Za-z0-9._-]/g, '_')
    .replace(/^[.-]+/, '')
    .replace(/\.+$/, '')
  if (plain.length <= MAX_NAME_LENGTH) return plain === '' ? 'file' : plain
  const extension = new RegExp(`\\.[A-Za-z0-9_-]{1,${MAX_EXTENSION_LENGTH}}$`).exec(plain)?.[0] ?? ''
  return plain.slice(0, MAX_NAME_LENGTH - extension.length) + extension
}
