const TRUST =
  'name the certificate of your authority with NODE_EXTRA_CA_CERTS=/path/ca.pem in the settings, and start the agent again'

/** What an admin can do about an error of the network or of TLS, by its code. */
const ADVICE: Readonly<Record<string, string>> = {
  ENOTFOUND: 'look at the name in APP_URL, and at the DNS of this host',
  EAI_AGAIN: 'the DNS of this host does not answer now',
  ECONNREFUSED:
    'nothing listens there: is the control plane running, and does it listen beyond its own host (LISTEN_HOST)?',
  EHOSTUNREACH: 'there is no way to that host: look at the network between',
  ENETUNREACH: 'there is no way to that network: look at the network of this host',
  ETIMEDOUT: 'nobody answers: look at firewalls between',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: TRUST,
  UNABLE_TO_GET_ISSUER_CERT: TRUST,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: TRUST,
  SELF_SIGNED_CERT_IN_CHAIN: TRUST,
  DEPTH_ZERO_SELF_SIGNED_CERT: TRUST,
  CERT_HAS_EXPIRED: 'renew the certificate of the control plane',
  CERT_NOT_YET_VALID: 'look at the clocks of both hosts',
  ERR_TLS_CERT_ALTNAME_INVALID: 'APP_URL must have a name that the certificate of the control plane has',
  EPROTO: 'does the port of APP_URL speak TLS?',
}

/** What to do about this error; null: nothing more is known than its own words. */
export function adviceFor(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const { code } = error as NodeJS.ErrnoException
  return (code === undefined ? undefined : ADVICE[code]) ?? adviceFor(error.cause)
}
