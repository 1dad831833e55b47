import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'ldapts'
import { TEST_CERTIFICATE } from './test-certificate.js'
import { waitFor } from './wait.js'

/** Where Debian has the server, which is not on the path of an ordinary user. */
const PROGRAM = '/usr/sbin/slapd'

const SUFFIX = 'dc=example,dc=com'
export const PEOPLE = `ou=people,${SUFFIX}`
export const GROUPS = `ou=groups,${SUFFIX}`
/** Where the overlay of password policies finds them, when it is there. */
export const POLICIES = `ou=policies,${SUFFIX}`
/** May read everything; nobody else may read anything. */
export const READER = { dn: `cn=reader,${SUFFIX}`, password: 'may read everything' }
const ROOT = { dn: `cn=root,${SUFFIX}`, password: 'may do everything' }

/** OpenLDAP's server with a folder of its own, and TLS by the certificate of the tests. */
export interface Slapd {
  readonly url: string
  readonly tlsUrl: string
  /** A file with the certificate. */
  readonly ca: string
  add(dn: string, attributes: Record<string, string | string[]>): Promise<void>
  remove(dn: string): Promise<void>
  /** A person below {@link PEOPLE} with a password. */
  addPerson(uid: string, password: string, more?: Record<string, string | string[]>): Promise<void>
  addGroup(cn: string, members: readonly string[]): Promise<void>
  /** What it logged of the requests that it got. */
  readonly said: () => string
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

/** The distinguished name of a person. */
export function personDn(uid: string): string {
  return `uid=${uid.replace(/[,+"\\<>;=#]/g, '\\$&')},${PEOPLE}`
}

/** @param options.withPolicies passwords have policies, which are entries below {@link POLICIES} */
export async function startSlapd({ withPolicies = false } = {}): Promise<Slapd> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-slapd-'))
  let [url, tlsUrl] = ['', '']
  const ca = join(folder, 'cert.pem')
  await mkdir(join(folder, 'data'))
  await writeFile(ca, TEST_CERTIFICATE.cert)
  await writeFile(join(folder, 'key.pem'), TEST_CERTIFICATE.key, { mode: 0o600 })
  await writeFile(join(folder, 'slapd.conf'), configuration(folder, withPolicies))

  let said = ''
  let child: ChildProcess | null = null
  async function start(): Promise<void> {
    const started = spawn(PROGRAM, ['-f', join(folder, 'slapd.conf'), '-h', `${url} ${tlsUrl}`, '-d', '256'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child = started
    const failure = once(started, 'error').then(([error]) => {
      throw new Error(`slapd cannot be started, install the package slapd: ${String(error)}`)
    })
    started.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    const listening = waitFor('slapd to answer', async () => {
      if (started.exitCode !== null) return 'ended'
      await asRoot((client) => client.search('', { scope: 'base' }))
      return 'listening'
    })
    if ((await Promise.race([listening, failure])) === 'ended') throw new Error(`slapd ended: ${said}`)
  }
  /** Somebody else may take a port between its being found and slapd's listening on it. */
  async function startSomewhere(tries: number): Promise<void> {
    const [plainPort, tlsPort] = await freePorts(2)
    url = `ldap://127.0.0.1:${plainPort}`
    tlsUrl = `ldaps://127.0.0.1:${tlsPort}`
    try {
      await start()
    } catch (error) {
      if (tries <= 1 || child?.exitCode === null) throw error
      await startSomewhere(tries - 1)
    }
  }
  async function stop(): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  async function asRoot<T>(act: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client({ url })
    try {
      await client.bind(ROOT.dn, ROOT.password)
      return await act(client)
    } finally {
      await client.unbind()
    }
  }
  const add: Slapd['add'] = (dn, attributes) => asRoot((client) => client.add(dn, attributes))

  await startSomewhere(5)
  await add(SUFFIX, { objectClass: ['dcObject', 'organization'], dc: 'example', o: 'Example' })
  await add(PEOPLE, { objectClass: 'organizationalUnit', ou: 'people' })
  if (withPolicies) await add(POLICIES, { objectClass: 'organizationalUnit', ou: 'policies' })
  await add(GROUPS, { objectClass: 'organizationalUnit', ou: 'groups' })
  const reader = { objectClass: ['organizationalRole', 'simpleSecurityObject'], cn: 'reader' }
  await add(READER.dn, { ...reader, userPassword: READER.password })
  return {
    url,
    tlsUrl,
    ca,
    add,
    remove: (dn) => asRoot((client) => client.del(dn)),
    addPerson: (uid, password, more = {}) =>
      add(personDn(uid), { objectClass: 'inetOrgPerson', uid, cn: uid, sn: uid, userPassword: password, ...more }),
    addGroup: (cn, members) =>
      add(`cn=${cn},${GROUPS}`, {
        objectClass: 'groupOfNames',
        cn: cn.replaceAll('\\', ''),
        member: members.map(personDn),
      }),
    said: () => said,
    stop,
    start,
    async close() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function configuration(folder: string, withPolicies: boolean): string {
  return `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
allow bind_anon_dn
moduleload back_mdb
moduleload memberof
${withPolicies ? 'moduleload ppolicy' : ''}
pidfile ${folder}/slapd.pid
TLSCertificateFile ${folder}/cert.pem
TLSCertificateKeyFile ${folder}/key.pem
database mdb
maxsize 10485760
dbnosync
suffix "${SUFFIX}"
rootdn "${ROOT.dn}"
rootpw "${ROOT.password}"
directory ${folder}/data
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="${READER.dn}" read by * none
overlay memberof
${withPolicies ? `overlay ppolicy\nppolicy_default "cn=default,${POLICIES}"\nppolicy_use_lockout` : ''}
`
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
