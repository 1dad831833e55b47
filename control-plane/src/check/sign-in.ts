import { readFile } from 'node:fs/promises'
import { type Socket, connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { fine, type Finding, wrong } from '@holdfast/protocol'
import type { LdapSettings, OpenIdSettings } from '../auth/roles/provider-config.js'
import { foreignText } from '../secrets/foreign-text.js'
import { readConfig } from './content.js'

const ANSWER_MS = 10_000

/** Checks whether the providers of config.yaml can be reached. Nobody is signed in. */
export async function checkSignIn(configPath: string): Promise<Finding[]> {
  // `checkContent` already reports a config.yaml that does not load.
  const config = await readConfig(configPath).catch(() => null)
  const { ldap, oidc, azuread } = config?.providers ?? {}
  return [
    ...(ldap === undefined ? [] : [await ldapFinding(ldap)]),
    ...(oidc === undefined ? [] : [await openIdFinding(oidc)]),
    ...(azuread === undefined ? [] : [await openIdFinding(azuread)]),
  ]
}

async function ldapFinding(settings: LdapSettings): Promise<Finding> {
  const subject = 'sign-in by ldap'
  try {
    const socket = await reach(settings)
    socket.destroy()
    return fine(subject, `${settings.url} takes connections`)
  } catch (error) {
    const words = `${settings.url} cannot be reached: ${foreignText(error, [])}`
    return wrong(subject, words, 'look at ldap.url and ldap.tls.ca in config.yaml, the network and firewalls between')
  }
}

/** Opens a connection as the sign-in does, with TLS where the address says so. */
async function reach({ url, ca, verify }: LdapSettings): Promise<Socket> {
  const { protocol, hostname: host, port } = new URL(url)
  const isTls = protocol === 'ldaps:'
  const place = { host, port: Number(port || (isTls ? 636 : 389)), timeout: ANSWER_MS }
  const authorities = ca === null ? {} : { ca: await readFile(ca) }
  return new Promise((resolve, reject) => {
    const socket = isTls
      ? connectTls({ ...place, ...authorities, servername: host, rejectUnauthorized: verify })
      : connect(place)
    socket.once(isTls ? 'secureConnect' : 'connect', () => resolve(socket))
    socket.once('timeout', () => socket.destroy(new Error(`no answer for ${ANSWER_MS / 1000} s`)))
    socket.once('error', reject)
  })
}

async function openIdFinding({ kind, issuer }: OpenIdSettings): Promise<Finding> {
  const subject = `sign-in by ${kind}`
  const advice = `look at the address of ${kind} in config.yaml, the network and proxies between`
  try {
    const path = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`
    const answer = await fetch(path, { signal: AbortSignal.timeout(ANSWER_MS), redirect: 'manual' })
    if (!answer.ok) return wrong(subject, `${path} answers ${answer.status}`, advice)
    const said: unknown = await answer.json()
    const named = typeof said === 'object' && said !== null && 'issuer' in said ? said.issuer : null
    if (named === issuer) return fine(subject, `${issuer} answers`)
    return wrong(
      subject,
      `${path} names another issuer: ${foreignText(String(named), [])}`,
      'write the issuer exactly as it is named',
    )
  } catch (error) {
    return wrong(subject, `${issuer} cannot be reached: ${foreignText(error, [])}`, advice)
  }
}
