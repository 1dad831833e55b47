import { putNewest } from '@holdfast/host/newest'
import type { Clock } from '../../time/clock.js'
import type { Timers } from '../../time/timers.js'
import {
  type VaultAnswer,
  VaultProblem,
  type VaultRequest,
  isObject,
  objectOf,
  reasonOf,
  sentSecrets,
  sendToVault,
} from './request.js'
import type { VaultSettings } from './settings.js'
import { type CallVault, createVaultToken } from './token.js'
import type { VaultReference } from './reference.js'

/** Reads secrets from a server of HashiCorp Vault, engine KV version 2. */
export type HashicorpVault = ReturnType<typeof createHashicorpVault>

/** What reading from Vault needs of other parts. */
export interface VaultDependencies {
  readonly timers: Timers
  /** A clock that never jumps. */
  readonly steady: Clock
  readonly log: { warn(fields: object, text: string): void }
  readonly send?: (request: VaultRequest) => Promise<VaultAnswer>
}

/** Most secrets that are kept. */
const MAX_KEPT = 1000

/** Secrets are never written to a disk. They stay in memory for VAULT_CACHE_SECONDS. */
export function createHashicorpVault(settings: VaultSettings, deps: VaultDependencies) {
  const { timers, steady, log, send = sendToVault } = deps
  const kept = new Map<string, { readonly until: number; readonly values: Promise<Record<string, unknown>> }>()
  const call: CallVault = async (method, path, using, given) => {
    const { address, namespace, caPath } = settings
    const asked = { method, url: `${address}/v1/${path}`, token: using, namespace, caPath, body: given ?? null }
    const answer = await send(asked)
    return { ...answer, reason: reasonOf(answer.status, answer.body, sentSecrets(asked)) }
  }

  const token = createVaultToken(settings, call, timers, log)

  /** @throws VaultProblem */
  async function readNow({ mount, path, text }: PlacedReference): Promise<Record<string, unknown>> {
    const where = `${escaped(mount)}/data/${escaped(path)}`
    const own = await token.now()
    let answer = await call('GET', where, own)
    if (answer.status === 403 && settings.login.kind === 'approle') {
      // The token may have been revoked, or have ended while the machine slept.
      await token.forget(own)
      answer = await call('GET', where, await token.now())
    }
    const { status, body, reason } = answer
    const data = objectOf(body.data)
    if (status === 200 && isObject(data.data)) return data.data
    if (status === 404 && isObject(data.metadata)) throw new VaultProblem(`the secret ${text} of Vault was deleted`)
    if (status === 404) {
      throw new VaultProblem(`Vault has no secret ${text} (mount ${mount}, path ${path}, KV version 2)`)
    }
    throw new VaultProblem(`Vault does not give the secret ${text}: ${reason}`)
  }

  return {
    /** The values of the secret by name. @throws VaultProblem */
    async read(reference: VaultReference): Promise<Readonly<Record<string, unknown>>> {
      const placed = place(reference, settings.mount)
      const key = `${placed.mount}\n${placed.path}`
      const now = steady.now()
      const known = kept.get(key)
      if (known && known.until > now) return known.values
      const values = readNow(placed)
      putNewest(kept, key, { until: now + settings.keepMs, values }, MAX_KEPT)
      // A failed request is not kept, so the next caller asks again at once.
      values.catch(() => kept.get(key)?.values === values && kept.delete(key))
      return values
    },
    close: () => token.close(),
  }
}

interface PlacedReference {
  readonly mount: string
  readonly path: string
  readonly text: string
}

/** @throws VaultProblem */
function place({ path: whole }: VaultReference, setting: string | null): PlacedReference {
  const mount = setting !== null && whole.startsWith(`${setting}/`) ? setting : (whole.split('/')[0] ?? '')
  const path = whole.slice(mount.length + 1)
  if (mount === '' || path === '') throw new VaultProblem(`the reference vault:${whole} needs a mount and a path`)
  return { mount, path, text: `vault:${whole}` }
}

function escaped(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}
