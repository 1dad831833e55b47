import type { RunnerState } from '../../control-plane/src/words/runner-state.js'
import { createIdentityKeys, publicKeyOf } from '@holdfast/protocol'
import { type Runner, insertRunner } from '../../control-plane/src/store/runners/runners.js'
import type { TestServer } from './server.js'

/** The id of a runner that asks to join or has joined, by its name. */
export async function runnerIdOf(server: TestServer, name: string): Promise<number> {
  const views = await server.parts.runners.hub.list()
  const view = views.find(({ runner }) => runner.name === name && runner.state !== 'denied')
  if (!view) throw new Error(`there is no runner ${name}`)
  return view.runner.id
}

/** A runner that was approved and is away: jobs for it are taken and wait. */
export function addRunner(
  server: Pick<TestServer, 'store'> & { readonly clock: { now(): number } },
  name: string,
  changes: { readonly isDefault?: boolean; readonly enabled?: boolean; readonly state?: RunnerState } = {},
): Promise<Runner> {
  const keys = createIdentityKeys()
  const now = server.clock.now()
  return server.store.write('test.runner', (queries) =>
    insertRunner(queries, {
      name,
      state: changes.state ?? 'approved',
      enabled: changes.enabled === false ? 0 : 1,
      is_default: changes.isDefault === true ? 1 : 0,
      mode: 'outbound',
      fingerprint: `SHA256:${publicKeyOf(keys.identityPrivatePem)}`,
      identity_key: publicKeyOf(keys.identityPrivatePem),
      sealing_key: publicKeyOf(keys.sealingPrivatePem),
      host: name,
      ip: '127.0.0.1',
      version: '0',
      contract: 1,
      ansible_version: null,
      isolation: 'none',
      description: '',
      agent_max_jobs: 10,
      max_jobs: null,
      generation: 1,
      instance: '0',
      epoch: 1,
      running_jobs: 0,
      draining: 0,
      spool_bytes: 0,
      clock_skew_ms: 0,
      requested_at: now,
      approved_at: now,
      approved_by: 'admin',
      last_seen: now,
      clone_seen_at: null,
    }),
  )
}
