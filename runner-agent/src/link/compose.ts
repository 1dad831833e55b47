import type { Ground } from '../ground.js'
import type { Keyring } from '../identity/keyring.js'
import type { Trust } from '../identity/trust.js'
import { socketAddress, transportDoubt } from './address.js'
import { createBackOff } from './back-off.js'
import { createHandshake } from './handshake.js'
import { createHello, type HelloOptions } from './hello.js'
import { createLink, type Link, type LinkEvents } from './link.js'

const SHORTEST_BACK_OFF_MS = 500
const LONGEST_BACK_OFF_MS = 30_000

/** Settings of the way to the control plane. */
export interface LinkSettings {
  readonly appUrl: URL
  readonly tlsVerify: boolean
  readonly proxy: URL | null
}

export interface LinkNeeds {
  readonly keyring: Keyring
  readonly trust: Trust
  readonly hello: Omit<HelloOptions, 'now'>
  readonly events: LinkEvents
}

/** The connection to the control plane. `start` dials. */
export function composeLink(
  { log, now, random, onClose }: Ground,
  { appUrl, tlsVerify, proxy }: LinkSettings,
  { keyring, trust, hello, events }: LinkNeeds,
): Link {
  const doubt = transportDoubt(appUrl, tlsVerify)
  if (doubt !== null) log.warn(doubt)
  const helloOf = createHello({ ...hello, now })
  const link = createLink(
    {
      address: socketAddress(appUrl),
      tlsVerify,
      proxy,
      prepare: () => keyring.prepare(),
      handshake: () => createHandshake({ identity: keyring.dial(), trust, hello: helloOf }),
    },
    createBackOff({ shortestMs: SHORTEST_BACK_OFF_MS, longestMs: LONGEST_BACK_OFF_MS, random }),
    withKeyChange(events, keyring),
    log,
  )
  onClose(() => link.close())
  return link
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
