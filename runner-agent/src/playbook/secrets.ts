import {
  type JobOrder,
  type JobSecrets,
  SealError,
  jobSecretsSchema,
  openSecrets,
  wordsOfSecret,
} from '@holdfast/protocol'
import { randomBytes } from 'node:crypto'
import * as v from 'valibot'
import type { Identity } from '../identity/identity.js'
import { OrderRefusedError } from './command-line.js'
import { extravarsText, hasVariables } from './plan.js'

/** Most words that are looked for in what a job says. */
const MAX_HIDDEN_WORDS = 5000

/** Opens the secrets of an order: only this runner can, and only for this run of the job. Null when there are none. */
export type OpenSecrets = (order: JobOrder) => JobSecrets | null

/** @throws SealError when they are not for this runner and run, or not what they should be */
export function createSecretsOpener(
  openers: () => readonly Pick<Identity, 'fingerprint' | 'sealingPrivatePem'>[],
): OpenSecrets {
  return ({ sealed, job_id: jobId, run_id: runId }) => {
    if (sealed === null) return null
    let failure: unknown
    // It may have been sealed before the runner got new keys. Then it opens with the former ones.
    for (const { fingerprint, sealingPrivatePem } of openers()) {
      let text: string
      try {
        text = openSecrets(sealed, sealingPrivatePem, { jobId, runId, fingerprint })
      } catch (error) {
        failure ??= error
        continue
      }
      return readSecrets(text)
    }
    throw failure
  }
}

/** How variables of the order are written; those of a launch that hold a password are written the same way. */
export interface VariableRules {
  /** Of the order. */
  readonly allowJinja: boolean
  /** Puts the paths of uploads on this host into variables. */
  readonly withPaths: (variables: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
}

/**
 * What the supervisor is told over its standard input (docs/job-folder.md): it serves each of `pipes` under that name in
 * the job's folder, puts `files` into memory and their paths in place of their marks, and hides the words of `hidden`.
 */
export function secretsText(secrets: JobSecrets, { allowJinja, withPaths }: VariableRules): string {
  const extravars = structuredClone(secrets.extravars)
  const files: Record<string, string> = {}
  for (const { at, content } of secrets.key_files) {
    const mark = `holdfast-file-${randomBytes(16).toString('hex')}`
    files[mark] = content
    place(extravars, at, mark)
  }
  const several = secrets.vaults.map(({ password }, number) => [`vault-password-${number}`, password])
  const hidden = hiddenOf(secrets)
  const pipes = {
    ...(hasVariables(secrets) ? { 'launch-vars': extravarsText(withPaths(secrets.variables), allowJinja) } : {}),
    'secret-vars': extravarsText(extravars, false),
    ...(secrets.vault_password === null ? {} : { 'vault-password': secrets.vault_password }),
    ...Object.fromEntries(several),
    'secret-values': JSON.stringify(hidden),
  }
  return `${JSON.stringify({ pipes, files, hidden: hidden.words })}\n`
}

/** The words to hide, the secrets themselves first, and whose secret each of them is. */
function hiddenOf({ hidden, origins }: JobSecrets): { words: string[]; origins: string[] } {
  const whole = hidden.map((secret, number) => [secret, origins[number] ?? 'the job'] as const)
  const inner = whole.flatMap(([secret, origin]) => wordsOfSecret(secret).map((word) => [word, origin] as const))
  const found = new Map<string, string>()
  for (const [word, origin] of [...whole, ...inner]) {
    if (found.size < MAX_HIDDEN_WORDS && !found.has(word)) found.set(word, origin)
  }
  return { words: [...found.keys()], origins: [...found.values()] }
}

/** Does not say what is wrong with the secrets: a sentence about a value would show the value. */
function readSecrets(text: string): JobSecrets {
  try {
    return v.parse(jobSecretsSchema, JSON.parse(text))
  } catch {
    throw new SealError('the secrets of this job are not what this agent understands; update it')
  }
}

function place(variables: Record<string, unknown>, at: readonly string[], value: string): void {
  const last = at.at(-1)
  let target: unknown = variables
  for (const key of at.slice(0, -1)) target = isObject(target) && Object.hasOwn(target, key) ? target[key] : null
  if (!isObject(target) || last === undefined || last === '__proto__') {
    throw new OrderRefusedError('the secrets of the job name a place for a key that is not there')
  }
  target[last] = value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
