import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { checkCertificate } from '../../../control-plane/src/check/certificate.js'
import { diskFinding } from '../../../control-plane/src/check/folders.js'
import { checkProxy } from '../../../control-plane/src/check/proxy.js'
import { trustedProxiesOf } from '../../../control-plane/src/http/server/trusted-proxies.js'
import { TEST_CERTIFICATE } from '../../support/test-certificate.js'

const PLAIN = { tls: null, listenHost: '127.0.0.1', trustProxy: null, publicUrl: null }

test.each([
  ['127.9.9.9', '0', 'ok'],
  ['::1', '0', 'ok'],
  ['localhost', '0', 'ok'],
  ['0.0.0.0', '1', 'ok'],
  ['0.0.0.0', '0', 'warning'],
  ['::1:2', '0', 'warning'],
])('a certificate may be missing at %s with TRUST_PROXY=%s: %s', async (listenHost, trusted, state) => {
  const findings = await checkCertificate({ ...PLAIN, listenHost, trustProxy: trustedProxiesOf(trusted) }, 0)
  expect(findings).toMatchObject([{ state }])
})

test.each([
  ['2019-12-31', null, 'problem'],
  ['2020-01-02', null, 'ok'],
  ['2020-01-02', 'https://localhost:8000', 'ok'],
  ['2020-01-02', 'https://127.0.0.1', 'ok'],
  ['2020-01-02', 'https://jobs.example.com', 'problem'],
  ['2020-01-02', 'https://[::1]', 'problem'],
  ['2119-12-25', null, 'warning'],
  ['2120-01-02', null, 'problem'],
])('a certificate from 2020 to 2120 is looked at on %s for %s: %s', async (day, publicUrl, state) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-findings-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const tls = { certPath: join(folder, 'cert.pem'), keyPath: join(folder, 'key.pem') }
  writeFileSync(tls.certPath, TEST_CERTIFICATE.cert)
  writeFileSync(tls.keyPath, TEST_CERTIFICATE.key)
  expect(await checkCertificate({ ...PLAIN, publicUrl, tls }, Date.parse(day))).toMatchObject([{ state }])
})

test.each([
  ['0', '0.0.0.0', null, []],
  ['1', '127.0.0.1', 'https://jobs.example.com', ['ok']],
  ['1', '::1', null, ['warning']],
  ['1', '0.0.0.0', 'https://jobs.example.com', ['warning']],
  ['2', '0.0.0.0', 'http://jobs.example.com', ['warning', 'warning']],
  ['10.0.0.5', '0.0.0.0', 'https://jobs.example.com', ['ok']],
])('TRUST_PROXY=%s at %s with PUBLIC_URL %s: %j', (trusted, listenHost, publicUrl, states) => {
  const findings = checkProxy({ trustProxy: trustedProxiesOf(trusted), listenHost, publicUrl, tls: null })
  expect(findings.map(({ state }) => state)).toEqual(states)
})

test('a disk that is nearly full is doubtful, and a full one is a problem', () => {
  expect([0, 1, 2 ** 40].map((bytes) => diskFinding('/data', bytes).state)).toEqual(['problem', 'warning', 'ok'])
})
