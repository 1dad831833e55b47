import {
  createIdentityKeys,
  fingerprintOf,
  type IdentityKeys,
  MAX_SUCCESSIONS,
  parseJson,
  publicKeyOf,
  type Succession,
  succeed,
  successionSchema,
} from '@holdfast/protocol'
import { chmod, mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { createDurably, syncFolder, writeDurably } from '@holdfast/host/durable'
import { isErrno } from '@holdfast/host/system-errors'

const keysSchema = v.object({ identityPrivatePem: v.string(), sealingPrivatePem: v.string() })

/** Keys that open what was sealed before they were replaced. */
const formerSchema = v.object({ fingerprint: v.string(), sealingPrivatePem: v.string() })

const identityFileSchema = v.object({
  ...keysSchema.entries,
  /** Keys before these, each with its signature over the next one. */
  succession: v.optional(successionSchema, []),
  former: v.optional(v.array(formerSchema), []),
})
type IdentityFile = v.InferOutput<typeof identityFileSchema>

/** Who this runner is: its keys, their public halves (base64), and the fingerprint that an admin compares. */
export interface Identity extends IdentityKeys {
  readonly identityPublicKey: string
  readonly sealingPublicKey: string
  readonly fingerprint: string
  readonly succession: Succession
  readonly former: readonly v.InferOutput<typeof formerSchema>[]
}

/**
 * Reads the runner's keys from its state folder; makes them, and the folder, at the first use. Two processes that do
 * so at once end up with the same keys.
 */
export async function loadIdentity(statePath: string): Promise<Identity> {
  await mkdir(statePath, { recursive: true, mode: 0o700 })
  const path = pathOf(statePath)
  return identityOf((await readIdentity(path)) ?? (await makeIdentity(path)))
}

/**
 * Makes the keys that shall replace today's, unless some wait already. The agent shows them at its next connection, and
 * they are its own once the control plane has taken them: until then both are kept, so that it may be ended at any moment.
 * @returns their fingerprint
 */
export async function makeNextKeys(statePath: string): Promise<string> {
  await loadIdentity(statePath)
  await createDurably(nextPathOf(statePath), JSON.stringify(createIdentityKeys()))
  const next = await readIdentity(nextPathOf(statePath))
  if (next === null) throw new Error('the keys that were just made are gone: the agent has taken them already')
  return identityOf(next).fingerprint
}

/** The identity of the new keys that wait; null when none wait. Today's key has signed it. */
export async function loadNext(statePath: string, today: Identity): Promise<Identity | null> {
  const next = await readIdentity(nextPathOf(statePath))
  if (next === null) return null
  const { fingerprint, identityPublicKey } = identityOf(next)
  // An earlier agent ended after it had made these keys its own, and before it could remove the file.
  if (fingerprint === today.fingerprint) {
    await forgetNext(statePath)
    return null
  }
  const link = succeed('runner', today.identityPrivatePem, identityPublicKey)
  return identityOf({
    ...next,
    succession: [...today.succession, link].slice(-MAX_SUCCESSIONS),
    former: [...today.former, { fingerprint: today.fingerprint, sealingPrivatePem: today.sealingPrivatePem }],
  })
}

/** Makes new keys the runner's own, now that the control plane knows them. The old private key is removed. */
export async function becomeNext(statePath: string, next: Identity): Promise<void> {
  await writeIdentity(statePath, next)
  await forgetNext(statePath)
}

/** Removes the former keys: nothing that was sealed to them is left. */
export async function forgetFormer(statePath: string, today: Identity): Promise<Identity> {
  const without = { ...today, former: [] }
  await writeIdentity(statePath, without)
  return without
}

async function writeIdentity(statePath: string, identity: Identity): Promise<void> {
  const { identityPrivatePem, sealingPrivatePem, succession, former } = identity
  const file: IdentityFile = { identityPrivatePem, sealingPrivatePem, succession, former: [...former] }
  await writeDurably(pathOf(statePath), JSON.stringify(file))
}

async function forgetNext(statePath: string): Promise<void> {
  await rm(nextPathOf(statePath), { force: true })
  await syncFolder(statePath)
}

function identityOf(file: IdentityFile): Identity {
  const identityPublicKey = publicKeyOf(file.identityPrivatePem)
  return {
    ...file,
    identityPublicKey,
    sealingPublicKey: publicKeyOf(file.sealingPrivatePem),
    fingerprint: fingerprintOf(identityPublicKey),
  }
}

const pathOf = (statePath: string): string => join(statePath, 'identity')
const nextPathOf = (statePath: string): string => join(statePath, 'identity-next')

async function makeIdentity(path: string): Promise<IdentityFile> {
  await createDurably(path, JSON.stringify(createIdentityKeys()))
  const made = await readIdentity(path)
  if (made === null) throw new Error(`${path}: the identity that was just written is gone`)
  return made
}

async function readIdentity(path: string): Promise<IdentityFile | null> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw new Error(`cannot read the identity ${path}; nothing is wrong with the identity, so leave it there`, {
      cause: error,
    })
  }
  // A copy or a restore may have widened the mode. If the disk is read-only now, the agent starts all the same.
  await chmod(path, 0o600).catch(() => undefined)
  try {
    return parseJson(identityFileSchema, text)
  } catch (error) {
    throw new Error(
      `the identity ${path} is not what this agent wrote; restore it from a backup. Without one, move it elsewhere ` +
        'and join anew as another runner',
      { cause: error },
    )
  }
}
