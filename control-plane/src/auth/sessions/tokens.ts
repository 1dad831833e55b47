import { createHash, randomBytes } from 'node:crypto'
import { type JWTPayload, SignJWT, compactVerify, errors, jwtVerify } from 'jose'
import type { Clock } from '../../time/clock.js'
import { UnauthenticatedError } from '../../errors.js'
import { type Secrets, secretsOf } from '../../secrets/secret-ring.js'

const ISSUER = 'holdfast'
const ALGORITHM = 'HS256'

/** The tokens of a session that a client has. */
export interface TokenPair {
  /** The short-lived bearer token for requests. */
  readonly token: string
  /** Works once, for the next pair. */
  readonly refreshtoken: string
  /** True when the user has to change the password first. Otherwise it is missing. */
  readonly passwordMustChange?: boolean
}

/**
 * The owner of a token, for pages that read it. This service never reads it, because it uses the present roles at every
 * request.
 */
export interface TokenUser {
  readonly username: string
  readonly id: number
  readonly type: string
  readonly email?: string
  readonly roles: readonly string[]
  readonly options: Readonly<Record<string, boolean>>
  readonly mustChangePassword?: boolean
}

/** The signed tokens. They only name a session. The database decides whether it is valid. */
export interface Tokens {
  signAccess(claims: {
    readonly userId: number
    readonly sessionId: string
    readonly expiresAt: number
    /** Everybody who has the token can read this. */
    readonly user?: TokenUser
  }): Promise<string>
  signRefresh(claims: {
    readonly sessionId: string
    readonly refreshId: string
    readonly expiresAt: number
  }): Promise<string>
  /** @throws UnauthenticatedError */
  readAccess(token: string): Promise<{ readonly userId: number; readonly sessionId: string }>
  /** @throws UnauthenticatedError */
  readRefresh(token: string): Promise<{ readonly sessionId: string; readonly refreshId: string }>
}

/** @param secrets ACCESS_TOKEN_SECRET: the first one signs, and signatures of all of them are valid */
export function createTokens(secrets: Secrets, clock: Clock): Tokens {
  const keys = () => secretsOf(secrets).map((secret) => new TextEncoder().encode(secret))

  function sign(claims: JWTPayload, expiresAt: number): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setIssuer(ISSUER)
      .setIssuedAt(new Date(clock.now()))
      .setExpirationTime(new Date(expiresAt))
      .sign(keys()[0] ?? new Uint8Array())
  }

  async function read(token: string): Promise<JWTPayload> {
    for (const key of keys().slice(1)) if (await isSignedWith(token, key)) return verified(token, key)
    return verified(token, keys()[0] ?? new Uint8Array())
  }

  /** Whether a signature was made with this secret. The token may have other errors. */
  async function isSignedWith(token: string, key: Uint8Array): Promise<boolean> {
    return compactVerify(token, key).then(
      () => true,
      () => false,
    )
  }

  async function verified(token: string, key: Uint8Array): Promise<JWTPayload> {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        requiredClaims: ['exp'],
        currentDate: new Date(clock.now()),
      })
      return payload
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw new UnauthenticatedError('token_expired', 'The token has expired')
      if (error instanceof errors.JOSEError) throw invalidToken()
      throw error
    }
  }

  return {
    signAccess: ({ userId, sessionId, expiresAt, user }) =>
      sign({ sub: String(userId), sid: sessionId, access: true, ...(user ? { user } : {}) }, expiresAt),
    signRefresh: ({ sessionId, refreshId, expiresAt }) =>
      sign({ sid: sessionId, jti: refreshId, refresh: true }, expiresAt),
    async readAccess(token) {
      const { sub, sid, access } = await read(token)
      if (access !== true || typeof sid !== 'string' || typeof sub !== 'string') throw invalidToken()
      return { userId: Number(sub), sessionId: sid }
    },
    async readRefresh(token) {
      const { sid, jti, refresh } = await read(token)
      if (refresh !== true || typeof sid !== 'string' || typeof jti !== 'string') throw invalidToken()
      return { sessionId: sid, refreshId: jti }
    },
  }
}

/** An id that cannot be guessed. */
export function randomId(): string {
  return randomBytes(24).toString('base64url')
}

/** An id that cannot be guessed, in hexadecimal digits, so that no command line mistakes it for a flag. */
export function randomName(): string {
  return randomBytes(12).toString('hex')
}

/** The stored hash of an id that only the client may know. */
export function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('hex')
}

/** The error for a token that is wrong or has expired. */
export function invalidToken(): UnauthenticatedError {
  return new UnauthenticatedError('token_invalid', 'The token is not valid')
}
