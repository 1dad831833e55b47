import * as v from 'valibot'

/** Most bytes of a job's secrets as JSON. Sealed and in base64 they must fit into an offer, beside everything else. */
export const MAX_SECRETS_BYTES = 384 * 1024

/** Most characters of sealed secrets of that size: base64, with header and tag. */
export const MAX_SEALED_CHARACTERS = Math.ceil((MAX_SECRETS_BYTES + 64) / 3) * 4

/** `@` ends the id on ansible's command line. */
const vaultIdSchema = v.pipe(v.string(), v.regex(/^[^@\p{C}]{1,100}$/u))

/** What is sealed for a runner: everything secret that one job needs. JSON. */
export const jobSecretsSchema = v.object({
  /**
   * Extra variables of the launch that hold a password, each as a whole. The order leaves them out. They are written in the
   * same way as the variables of the order (`allow_jinja`, paths of uploads).
   */
  variables: v.record(v.string(), v.unknown()),
  /** Extra variables that win over all others. */
  extravars: v.record(v.string(), v.unknown()),
  /** Private keys: each is put into memory on the runner, and its path into the extra variables at `at`. */
  key_files: v.array(v.object({ at: v.pipe(v.array(v.string()), v.minLength(1)), content: v.string() })),
  vault_password: v.nullable(v.string()),
  /** Several vault passwords, each with the id that ansible-vault knows it by. */
  vaults: v.pipe(v.array(v.object({ id: vaultIdSchema, password: v.string() })), v.maxLength(20)),
  /** Every value that must not be seen in output and events. */
  hidden: v.array(v.string()),
  /** Whose secret each of `hidden` is, for people, such as `the credential 'db'`. */
  origins: v.array(v.string()),
})

/** The secrets of a job, as they are before they are sealed. */
export type JobSecrets = v.InferOutput<typeof jobSecretsSchema>
