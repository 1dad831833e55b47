/**
 * Operations that these requests cannot bring to success, each with the reason and the tests that play it. They are
 * asked like all others; only nobody waits for them to succeed.
 */
export const UNPLAYED: Readonly<Record<string, string>> = {
  ...byProvider('GET /auth/oidc', 'GET /auth/oidc/callback', 'GET /auth/azuread', 'GET /auth/azuread/callback'),
  ...byProvider('GET /auth/confirm', 'POST /auth/confirm', 'POST /auth/exchange'),
  'POST /notification/test-mail': 'takes a mail server: test/api/notifications/notification-mails',
  'POST /query': 'takes a database that a form asks: test/api/forms/query-fields',
  'POST /runner/{id}/accept': 'takes a runner that shows an older copy of its state folder: test/runners/older-copy',
  'POST /secret/access-token/rotate':
    'the secret is a setting here, by which expired tokens are made: test/attacks/secret-rotation',
  ...byOrphan('adopt', 'end', 'forget'),
}

/** Both halves of such a sign-in need a provider, and what it says to a browser with the cookie of the flow. */
function byProvider(...keys: readonly string[]): Record<string, string> {
  const reason =
    'takes a sign-in provider and a browser: test/api/accounts/sign-in-openid, test/attacks/sign-in-browser'
  return Object.fromEntries(keys.map((key) => [key, reason]))
}

function byOrphan(...decisions: readonly string[]): Record<string, string> {
  const reason = 'takes a runner with a job that the database does not know: test/runners/adoption'
  return Object.fromEntries(decisions.map((decision) => [`POST /runner/{id}/orphans/${decision}`, reason]))
}
