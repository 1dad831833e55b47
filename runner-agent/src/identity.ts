import { createIdentityKeys, fingerprintOf, type IdentityKeys, parseJson, publicKeyOf } from '@holdfast/protocol'
import { chmod, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { createDurably, isErrno } from './spool/durable.js'

const identityFileSchema = v.object({ identityPrivatePem: v.string(), sealingPrivatePem: v.string() })

/** Who this runner is: its keys, their public halves (base64), and the fingerprint that an admin compares. */
export interface Identity extends IdentityKeys {
  readonly identityPublicKey: string
  readonly sealingPublicKey: string
  readonly fingerprint: string
}

/**
 * Reads the runner's keys from its state folder; makes them, and the folder, at the first use. Two processes that do
 * so at once end up with the same keys.
 */
export async function loadIdentity(statePath: string): Promise<Identity> {
  await mkdir(statePath, { recursive: true, mode: 0o700 })
  const path = join(statePath, 'identity')
  const keys = (await readKeys(path)) ?? (await makeKeys(path))
  const identityPublicKey = publicKeyOf(keys.identityPrivatePem)
  return {
    ...keys,
    identityPublicKey,
    sealingPublicKey: publicKeyOf(keys.sealingPrivatePem),
    fingerprint: fingerprintOf(identityPublicKey),
  }
}

async function makeKeys(path: string): Promise<IdentityKeys> {
  await createDurably(path, JSON.stringify(createIdentityKeys()))
  const keys = await readKeys(path)
  if (keys === null) throw new Error(`${path}: the identity that was just written is gone`)
  return keys
}

async function readKeys(path: string): Promise<IdentityKeys | null> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw new Error(`cannot read the identity ${path}`, { cause: error })
  }
  try {
    // A copy or a restore may have widened the mode.
    await chmod(path, 0o600)
    return parseJson(identityFileSchema, text)
  } catch (error) {
    throw new Error(`the identity ${path} is not what this agent wrote; restore it, or remove it to join anew`, {
      cause: error,
    })
  }
}
