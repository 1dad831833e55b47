import { expect, test } from 'vitest'
import { checkProxy } from '../../../control-plane/src/check/proxy.js'
import { trustedProxiesOf } from '../../../control-plane/src/http/server/trusted-proxies.js'

const TLS = 'https://jobs.example.com'

test.each([
  ['0', '0.0.0.0', null, []],
  ['1', '127.0.0.1', TLS, ['ok']],
  ['1', '::1', null, ['warning']],
  ['1', '0.0.0.0', TLS, ['warning']],
  ['2', '0.0.0.0', 'http://jobs.example.com', ['warning', 'warning']],
  ['10.0.0.5', '0.0.0.0', TLS, ['ok']],
])('TRUST_PROXY=%s at %s with PUBLIC_URL %s: %j', (trusted, listenHost, publicUrl, states) => {
  const findings = checkProxy({ trustProxy: trustedProxiesOf(trusted), listenHost, publicUrl, tls: null })
  expect(findings.map(({ state }) => state)).toEqual(states)
})
