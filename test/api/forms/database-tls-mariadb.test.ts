import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MariadbServer, startMariadb } from '../../support/mariadb.js'
import { SIGNED_CERTIFICATES } from '../../support/signed-certificates.js'
import { RENEWED_CERTIFICATE, TEST_CERTIFICATE } from '../../support/test-certificate.js'
import { type TestServer, startServer } from '../server.js'

/** Forms that ask a database over TLS: a real MariaDB server with a certificate of an authority of its own. */
const { authority, server: ofServer, client: ofClient } = SIGNED_CERTIFICATES
const PASSWORD = 'canary-of-mariadb'

const FORM = {
  name: 'asks',
  type: 'ansible',
  playbook: 'x.yml',
  roles: ['default'],
  fields: [
    { name: 'db', type: 'text', default: 'trusting' },
    {
      name: 'row',
      type: 'expression',
      dbConfig: '$(db)',
      query:
        "select substring_index(current_user(), '@', 1) as who, variable_value <> '' as tls from information_schema.session_status where variable_name = 'Ssl_cipher'",
    },
  ],
}

const TLS = ['ssl-ca=FOLDER/authority.crt', 'ssl-cert=FOLDER/server.crt', 'ssl-key=FOLDER/server.key']
const SUBJECTS = { by_subject: "subject '/CN=by_certificate'", by_other_subject: "subject '/CN=somebody else'" }

let mariadb: MariadbServer
/** A server whose certificate names its address. */
let ofAddress: MariadbServer
/** A server that has no TLS. */
let withoutTls: MariadbServer
let server: TestServer

beforeAll(async () => {
  ;[mariadb, ofAddress, withoutTls] = await Promise.all([
    startMariadb(TLS, { 'server.key': ofServer.key, 'server.crt': ofServer.cert, 'authority.crt': authority }),
    startMariadb(TLS, {
      'server.key': TEST_CERTIFICATE.key,
      'server.crt': TEST_CERTIFICATE.cert,
      'authority.crt': TEST_CERTIFICATE.cert,
    }),
    startMariadb(['skip-ssl']),
  ])
  // The first may come with any connection, the second needs TLS, the others need a certificate.
  await addUsers(mariadb, { anyhow: 'none', holdfast: 'ssl', by_certificate: 'x509', ...SUBJECTS })
  await addUsers(ofAddress, { holdfast: 'ssl' })
  server = await startServer({ forms: { 'asks.yaml': JSON.stringify(FORM) } })
  const login = { host: 'localhost', port: mariadb.port, user: 'holdfast', password: PASSWORD, type: 'database' }
  const trusting = { db_type: 'mysql', secure: true, ca: authority }
  const certificate = { ...login, type: 'certificate', user: 'by_certificate', password: ofClient.key }
  const withCertificate = { db_type: 'mysql', ca: authority, certificate: ofClient.cert }
  for (const credential of [
    { ...login, name: 'trusting', options: trusting },
    { ...login, name: 'anyhow', user: 'anyhow', options: { db_type: 'mysql' } },
    { ...login, name: 'unlike', options: { ...trusting, ca: TEST_CERTIFICATE.cert } },
    { ...login, name: 'of system', options: { db_type: 'mysql', secure: true } },
    { ...login, name: 'plain', options: { db_type: 'mysql' } },
    // The certificate is for the name localhost.
    { ...login, name: 'address', host: '127.0.0.1', options: trusting },
    // A name for the same machine that is no address for the driver.
    { ...login, name: 'other name', host: '127.1', options: trusting },
    {
      ...login,
      name: 'address of certificate',
      host: '127.0.0.1',
      port: ofAddress.port,
      options: { ...trusting, ca: TEST_CERTIFICATE.cert },
    },
    { ...login, name: 'without TLS', port: withoutTls.port, options: trusting },
    { ...certificate, name: 'certificate without TLS', port: withoutTls.port, options: withCertificate },
    { ...login, name: 'no certificate', user: 'by_certificate', options: trusting },
    { ...certificate, name: 'certificate', options: withCertificate },
    { ...certificate, name: 'subject', user: 'by_subject', options: withCertificate },
    { ...certificate, name: 'other subject', user: 'by_other_subject', options: withCertificate },
    { ...certificate, name: 'certificate to address', host: '127.0.0.1', options: withCertificate },
    {
      ...certificate,
      name: 'strange certificate',
      password: RENEWED_CERTIFICATE.key,
      options: { ...withCertificate, certificate: RENEWED_CERTIFICATE.cert },
    },
  ]) {
    const { status, text } = await server.call('POST', '/credential', { token: server.admin, json: credential })
    expect(status, text).toBe(200)
  }
})
afterAll(async () => {
  await server?.close()
  await Promise.all([mariadb?.close(), ofAddress?.close(), withoutTls?.close()])
})

/** Makes users with what the server demands of each. Who needs no certificate has a password. */
async function addUsers({ port }: MariadbServer, users: Readonly<Record<string, string>>): Promise<void> {
  const root = await createConnection({ host: '127.0.0.1', port, user: 'root' })
  for (const [user, needs] of Object.entries(users)) {
    const password = needs === 'none' || needs === 'ssl' ? ` identified by '${PASSWORD}'` : ''
    await root.query(`create user '${user}'@'%'${password} require ${needs}`)
  }
  await root.end()
}

async function rowOf(db: string): Promise<{ value?: unknown; waiting?: string }> {
  const { status, body, text } = await server.call('POST', '/forms/asks/evaluate', {
    token: server.admin,
    json: { rawFormData: { db }, wait: 60 },
  })
  expect(status, text).toBe(200)
  // Neither the password nor the key is told.
  expect(text).not.toContain(PASSWORD)
  expect(text).not.toContain('PRIVATE KEY')
  return (body.fields as { row: { value?: unknown; waiting?: string } }).row
}

test('a server is trusted by the authority of its credential, and without `secure` it is asked without TLS', async () => {
  expect(await rowOf('trusting')).toMatchObject({ value: [{ who: 'holdfast', tls: 1 }] })
  expect(await rowOf('address of certificate')).toMatchObject({ value: [{ who: 'holdfast', tls: 1 }] })
  expect(await rowOf('anyhow')).toMatchObject({ value: [{ who: 'anyhow', tls: 0 }] })
})

test.each([
  ['unlike', /certificate/],
  ['of system', /certificate/],
  ['address', /IP: 127\.0\.0\.1 is not in the cert's list/],
  ['certificate to address', /IP: 127\.0\.0\.1 is not in the cert's list/],
  ['other name', /does not match certificate's altnames/],
  // The server demands TLS.
  ['plain', /Access denied/],
  ['without TLS', /does not support secure connection/],
  ['certificate without TLS', /does not support secure connection/],
])('with the credential %s it is not asked', async (db, reason) => {
  expect(await rowOf(db)).toMatchObject({ waiting: expect.stringMatching(reason) as string })
})

test('a client certificate logs in without a password', async () => {
  expect(await rowOf('certificate')).toMatchObject({ value: [{ who: 'by_certificate', tls: 1 }] })
  expect(await rowOf('subject')).toMatchObject({ value: [{ who: 'by_subject', tls: 1 }] })
})

test.each([
  ['no certificate', /Access denied/],
  ['other subject', /Access denied/],
  ['strange certificate', /certificate|alert|Access denied/],
])('with the credential %s it is refused', async (db, reason) => {
  expect(await rowOf(db)).toMatchObject({ waiting: expect.stringMatching(reason) as string })
})
