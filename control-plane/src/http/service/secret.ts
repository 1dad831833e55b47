import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { SecretRotation } from '../../credentials/encryption/rotation.js'
import { requireAdmin } from '../route/guards.js'
import { Message, answers } from '../route/schemas.js'

const Reencryption = Type.Object(
  {
    message: Type.String(),
    reencrypted: Type.Integer({ description: 'Values that are now encrypted with the new secret' }),
    unreadable: Type.Integer({
      description: 'Values that cannot be decrypted with any known secret; they stay as they are',
    }),
  },
  { title: 'Reencryption' },
)

const tags = ['monitoring']
const audit = (what: string) => ({ action: `secret.rotate-${what}`, kind: 'secret' })

/** Replacing the secrets of the service while it runs, for admins. */
export function secretRoutes({ rotation }: { readonly rotation: SecretRotation }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/secret/encryption/rotate',
      {
        onRequest: requireAdmin,
        config: { audit: audit('encryption') },
        schema: {
          tags,
          summary: 'Encrypt all stored secrets with a new secret (admin)',
          description:
            'If ENCRYPTION_SECRET is a setting, no new secret is made: everything is encrypted with that of the setting. ' +
            'May be repeated after a failure.',
          operationId: 'rotateEncryptionSecret',
          response: answers(Reencryption, 403),
        },
      },
      async () => {
        const { reencrypted, unreadable } = await rotation.rotateEncryption()
        const left = unreadable === 0 ? '' : `; ${unreadable} could not be opened and stay as they are`
        return { message: `Encrypted anew: ${reencrypted}${left}`, reencrypted, unreadable }
      },
    )

    app.post(
      '/secret/access-token/rotate',
      {
        onRequest: requireAdmin,
        config: { audit: audit('access-token') },
        schema: {
          tags,
          summary:
            'Sign access tokens with a new secret from now on; existing tokens stay valid until they expire (admin)',
          operationId: 'rotateAccessTokenSecret',
          response: answers(Message, 403, 409),
        },
      },
      async () => {
        await rotation.rotateAccessTokens()
        return { message: 'Tokens are signed with a new secret; those that are out are good until they expire' }
      },
    )
  }
}
