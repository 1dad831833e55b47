import { ProtocolError } from '@holdfast/protocol'
import type { Ground } from '../ground.js'
import type { Keyring } from '../identity/keyring.js'
import type { Trust } from '../identity/trust.js'
import { socketAddress, transportDoubt } from './address.js'
import { createBackOff } from './back-off.js'
import { type AgentHandshake, createHandshake } from './handshake.js'
import { createHello, type HelloDependencies } from './hello.js'
import { createListener } from './listener.js'
import { createLink, type Link, type LinkEvents } from './link.js'

const MIN_BACK_OFF_MS = 500
const MAX_BACK_OFF_MS = 30_000

/** Settings of the way to the control plane. */
export interface LinkSettings {
  /** Null: the control plane dials this agent. */
  readonly appUrl: URL | null
  readonly inbound: { readonly host: string; readonly port: number }
  readonly tlsVerify: boolean
  readonly proxy: URL | null
}

/** What this room needs of other rooms. */
export interface LinkNeeds {
  readonly keyring: Keyring
  readonly trust: Trust
  readonly hello: Omit<HelloDependencies, 'now'>
  readonly events: LinkEvents
}

/** The connection to the control plane. `start` dials, or waits for the control plane to dial. */
export function composeLink(ground: Ground, settings: LinkSettings, needs: LinkNeeds): Link {
  const { appUrl } = settings
  const link = appUrl === null ? listening(ground, settings, needs) : dialling(ground, { ...settings, appUrl }, needs)
  ground.onClose(() => link.close())
  return link
}

function dialling(
  { log, now, random }: Ground,
  { appUrl, tlsVerify, proxy }: LinkSettings & { readonly appUrl: URL },
  { keyring, trust, hello, events }: LinkNeeds,
): Link {
  const doubt = transportDoubt(appUrl, tlsVerify)
  if (doubt !== null) log.warn(doubt)
  const helloOf = createHello({ ...hello, now })
  return createLink(
    {
      address: socketAddress(appUrl),
      tlsVerify,
      proxy,
      prepare: () => keyring.prepare(),
      handshake: () => createHandshake({ identity: keyring.dial(), trust, hello: helloOf }),
    },
    createBackOff({ shortestMs: MIN_BACK_OFF_MS, longestMs: MAX_BACK_OFF_MS, random }),
    withKeyChange(events, keyring),
    log,
  )
}

function listening(
  { log, now }: Ground,
  { inbound }: LinkSettings,
  { keyring, trust, hello, events }: LinkNeeds,
): Link {
  const helloOf = createHello({ ...hello, now })
  const handshake = (): AgentHandshake => {
    const identity = keyring.shown
    // A stranger who dials must not change anything: neither the trusted control plane nor the keys in use.
    const check: Trust['check'] = (claim) => {
      if (!trust.knows(claim))
        throw new ProtocolError('untrusted_service', 'its key is not the one that this runner trusts')
      if (keyring.dial() !== identity)
        throw new ProtocolError('going_away', 'new keys are shown at the next connection')
      trust.check(claim)
    }
    return createHandshake({ identity, trust: { check }, hello: helloOf })
  }
  const options = { ...inbound, prepare: () => keyring.prepare(), handshake }
  return createListener(options, withKeyChange(events, keyring), log)
}

/** New keys become the agent's own at a welcome. Keys that wait are shown at the next connection, which begins soon. */
function withKeyChange(events: LinkEvents, keyring: Keyring): LinkEvents {
  return {
    ...events,
    up(welcome, connection) {
      void keyring.welcomed()
      events.up(welcome, connection)
    },
    heartbeat(connection) {
      events.heartbeat(connection)
      void keyring.prepare().then(() => {
        if (keyring.isNextWaiting) connection.close('going_away', 'new keys are shown at the next connection')
      })
    },
  }
}
