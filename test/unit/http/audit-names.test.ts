import { expect, test } from 'vitest'
import { auditNameOf } from '../../../control-plane/src/http/route/audit-hook.js'

test.each([
  ['POST', '/user', 'user', 'user.create'],
  ['PUT', '/user/:id', 'user', 'user.change'],
  ['PATCH', '/user/:id', 'user', 'user.change'],
  ['DELETE', '/user/:id', 'user', 'user.delete'],
  ['POST', '/job/:id/abort', 'job', 'job.abort'],
  ['POST', '/job/:id', 'job', 'job.create'],
  ['PUT', '/settings/mail', 'settings', 'settings.mail.change'],
  ['POST', '/', 'service', 'service.create'],
])('a request that changes something has a record: %s %s', (method, path, kind, action) => {
  expect(auditNameOf({ method, url: `/api/v2${path}` })).toEqual({ kind, action })
})

test('a request that only reads has none, unless its route says that it has', () => {
  for (const method of ['GET', 'HEAD', 'OPTIONS']) expect(auditNameOf({ method, url: '/api/v2/user' })).toBeNull()
  const audit = { kind: 'session', action: 'session.begin' }
  expect(auditNameOf({ method: 'GET', url: '/api/v2/auth/oidc', config: { audit } })).toBe(audit)
})
