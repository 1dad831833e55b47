import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresServer, POSTGRES_PASSWORD, startPostgres } from '../../support/postgres.js'
import { SIGNED_CERTIFICATES } from '../../support/signed-certificates.js'
import { RENEWED_CERTIFICATE, TEST_CERTIFICATE } from '../../support/test-certificate.js'
import { type TestServer, startServer } from '../server.js'

/** Forms that ask a database over TLS: a real PostgreSQL server with a certificate of an authority of its own. */
const { authority, server: ofServer, client: ofClient } = SIGNED_CERTIFICATES

/** Nobody gets in without TLS. One user gets in by certificate only. */
const ACCESS = `hostssl all by_certificate all cert
hostssl all all all scram-sha-256
`
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
        'select current_user::text as who, s.ssl, s.client_dn as dn from pg_stat_ssl s where s.pid = pg_backend_pid()',
    },
  ],
}

let postgres: PostgresServer
let server: TestServer

beforeAll(async () => {
  postgres = await startPostgres(['fsync=off', 'shared_buffers=32MB', 'ssl_ca_file=authority.crt'], {
    'server.key': ofServer.key,
    'server.crt': ofServer.cert,
    'authority.crt': authority,
    'pg_hba.conf': ACCESS,
  })
  const owner = new pg.Client({ connectionString: postgres.urlOf('postgres'), ssl: { rejectUnauthorized: false } })
  await owner.connect()
  await owner.query('create user by_certificate')
  await owner.end()
  server = await startServer({ forms: { 'asks.yaml': JSON.stringify(FORM) } })
  const login = { host: 'localhost', port: postgres.port, user: 'holdfast', password: POSTGRES_PASSWORD }
  const options = { db_type: 'postgres', db_name: 'postgres' }
  const trusting = { ...options, secure: true, ca: authority }
  const certificate = { ...login, type: 'certificate', user: 'by_certificate' }
  for (const credential of [
    { ...login, name: 'trusting', type: 'database', options: trusting },
    { ...login, name: 'unlike', type: 'database', options: { ...trusting, ca: TEST_CERTIFICATE.cert } },
    { ...login, name: 'of system', type: 'database', options: { ...options, secure: true } },
    { ...login, name: 'plain', type: 'database', options },
    { ...login, name: 'address', type: 'database', host: '127.0.0.1', options: trusting },
    { ...login, name: 'no certificate', type: 'database', user: 'by_certificate', options: trusting },
    {
      ...certificate,
      name: 'certificate',
      password: ofClient.key,
      options: { ...options, ca: authority, certificate: ofClient.cert },
    },
    {
      ...certificate,
      name: 'strange certificate',
      password: RENEWED_CERTIFICATE.key,
      options: { ...options, ca: authority, certificate: RENEWED_CERTIFICATE.cert },
    },
    {
      ...certificate,
      name: 'somebody else',
      user: 'holdfast',
      password: ofClient.key,
      options: { ...options, ca: authority, certificate: ofClient.cert },
    },
    {
      ...certificate,
      name: 'of another kind',
      password: ofClient.key,
      options: { db_type: 'mssql', ca: authority, certificate: ofClient.cert },
    },
  ]) {
    const { status, text } = await server.call('POST', '/credential', { token: server.admin, json: credential })
    expect(status, text).toBe(200)
  }
})
afterAll(async () => {
  await server?.close()
  await postgres?.close()
})

async function rowOf(db: string): Promise<{ value?: unknown; waiting?: string }> {
  const { status, body, text } = await server.call('POST', '/forms/asks/evaluate', {
    token: server.admin,
    json: { rawFormData: { db }, wait: 60 },
  })
  expect(status, text).toBe(200)
  // Neither the password nor the key is told.
  expect(text).not.toContain(POSTGRES_PASSWORD)
  expect(text).not.toContain('PRIVATE KEY')
  return (body.fields as { row: { value?: unknown; waiting?: string } }).row
}

test('a server is trusted by the authority of its credential', async () => {
  expect(await rowOf('trusting')).toMatchObject({ value: [{ who: 'holdfast', ssl: true, dn: null }] })
})

test.each([
  ['unlike', /certificate/],
  ['of system', /certificate/],
  // The certificate is for the name.
  ['address', /does not match certificate's altnames/],
  ['plain', /no encryption/],
])('with the credential %s it is not asked', async (db, reason) => {
  expect(await rowOf(db)).toMatchObject({ waiting: expect.stringMatching(reason) as string })
})

test('a client certificate logs in without a password', async () => {
  const value = [{ who: 'by_certificate', ssl: true, dn: expect.stringContaining('by_certificate') as string }]
  expect(await rowOf('certificate')).toMatchObject({ value })
})

test.each([
  ['no certificate', /connection requires a valid client certificate|certificate authentication failed/],
  ['strange certificate', /certificate|alert/],
  ['somebody else', /password/],
  ['of another kind', /is of type certificate, which opens no database of type mssql/],
])('with the credential %s it is refused', async (db, reason) => {
  expect(await rowOf(db)).toMatchObject({ waiting: expect.stringMatching(reason) as string })
})
