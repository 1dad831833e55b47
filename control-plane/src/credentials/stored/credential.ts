import { type Static, Type } from 'typebox'
import { definedOnly } from '../../defined-only.js'
import { vaultReferenceOf } from '../hashicorp/reference.js'

/**
 * `userpass`: a login. `ssh`: `password` is a private key. `vault`: `password` opens files of ansible-vault. `database`: a
 * login to a database that forms ask. `token`: `password` is a token for REST services. `certificate`: `password` is the
 * private key of the client certificate in `options`.
 */
export const CREDENTIAL_TYPES = ['userpass', 'ssh', 'vault', 'database', 'token', 'certificate'] as const
/** One of {@link CREDENTIAL_TYPES}. */
export type CredentialType = (typeof CREDENTIAL_TYPES)[number]

/** Most characters of a secret. A large private key has about 4000. */
const MAX_SECRET_LENGTH = 32 * 1024

const optionalText = Type.Optional(Type.Union([Type.String({ maxLength: 1000 }), Type.Null()]))

/** The kinds of databases that forms can ask. */
export const DATABASE_TYPES = ['postgres', 'mysql', 'mssql', 'oracle', 'mongodb'] as const
/** One of {@link DATABASE_TYPES}. */
export type DatabaseType = (typeof DATABASE_TYPES)[number]

const pem = (what: string) =>
  Type.Optional(
    Type.Union([Type.String({ maxLength: MAX_SECRET_LENGTH, pattern: '-----BEGIN CERTIFICATE-----' }), Type.Null()], {
      description: what,
    }),
  )

/** Options that only some types of credentials have. None of them is secret. */
export const CredentialOptions = Type.Object(
  {
    db_type: Type.Optional(
      Type.Union([Type.Enum([...DATABASE_TYPES]), Type.Null()], { description: 'The kind of the database' }),
    ),
    db_name: Type.Optional(
      Type.Union([Type.String({ maxLength: 200 }), Type.Null()], { description: 'The name of the database' }),
    ),
    secure: Type.Optional(
      Type.Union([Type.Boolean(), Type.Null()], { description: 'Connect with TLS, and check the certificate' }),
    ),
    ca: pem('The certificates (PEM) that are trusted instead of those of the system'),
    certificate: pem('The client certificate (PEM) of type certificate'),
  },
  { additionalProperties: false, description: 'What databases and client certificates need more; null takes one away' },
)
export type CredentialOptions = Static<typeof CredentialOptions>

/** The options that a credential has. */
export type GivenOptions = {
  readonly [Name in keyof CredentialOptions]?: NonNullable<CredentialOptions[Name]>
}

/** A credential as people write it: the body of a request, an entry of credentials.yaml. */
export const CredentialInput = Type.Object({
  name: Type.String({
    // A comma separates the name of a credential from its alternative.
    pattern: '^[^\\s,\\x00-\\x1f]([^,\\x00-\\x1f]{0,198}[^\\s,\\x00-\\x1f])?$',
    description: '1 to 200 characters without comma; forms call it so',
  }),
  type: Type.Optional(Type.Enum([...CREDENTIAL_TYPES], { description: 'userpass when left out' })),
  user: optionalText,
  password: Type.String({
    minLength: 1,
    maxLength: MAX_SECRET_LENGTH,
    description:
      'The secret: a password, the private key of type ssh, the password of type vault, a token. Never returned',
  }),
  host: optionalText,
  port: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 65_535 }), Type.Null()])),
  description: Type.Optional(Type.String({ maxLength: 4000 })),
  options: Type.Optional(CredentialOptions),
})
export type CredentialInput = Static<typeof CredentialInput>

/** A credential without its secret. */
export interface Credential {
  /** Null for a credential of credentials.yaml. */
  readonly id: number | null
  readonly name: string
  readonly type: CredentialType
  readonly user: string | null
  readonly host: string | null
  readonly port: number | null
  readonly description: string
  readonly options: GivenOptions
}

/** A credential with its secret in clear. It exists only while the secrets of a job are put together. */
export interface OpenCredential extends Credential {
  readonly password: string
}

/**
 * The problem of a secret for its type, in words that show nothing of it; null: none. A key with a passphrase is a
 * problem, because ansible would ask for the passphrase and nobody could answer.
 */
export function problemOfSecret(
  type: CredentialType,
  password: string,
  options: CredentialOptions = {},
): string | null {
  if (type === 'certificate' && !options.certificate) return 'the type certificate needs options.certificate'
  if (type === 'database' && !options.db_type) return 'the type database needs options.db_type'
  if (type !== 'ssh' && type !== 'certificate') return null
  // A key from Vault is checked when it is read.
  if (vaultReferenceOf(password) !== null) return null
  if (!/^-----BEGIN [A-Z ]*PRIVATE KEY-----$/m.test(password)) {
    return `the password of a credential of type ${type} must be a private key (PEM${type === 'ssh' ? ' or OpenSSH' : ''})`
  }
  return hasPassphrase(password) ? 'the private key must not have a passphrase: nobody is there to enter it' : null
}

/** Options without those that are null. */
export function givenOptions({ db_type, db_name, secure, ca, certificate }: CredentialOptions): GivenOptions {
  return definedOnly({
    db_type: db_type || undefined,
    db_name: db_name || undefined,
    secure: secure ?? undefined,
    ca: ca || undefined,
    certificate: certificate || undefined,
  })
}

/** PEM has a word for it. The OpenSSH format names a cipher after its first 15 bytes. */
function hasPassphrase(key: string): boolean {
  if (key.includes('ENCRYPTED')) return true
  const [, body] = /-----BEGIN OPENSSH PRIVATE KEY-----([^-]*)-----/.exec(key) ?? []
  const bytes = Buffer.from(body ?? '', 'base64')
  return (
    bytes.subarray(0, 14).equals(Buffer.from('openssh-key-v1')) && !bytes.subarray(19, 23).equals(Buffer.from('none'))
  )
}
