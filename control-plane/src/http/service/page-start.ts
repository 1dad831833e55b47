import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { OpenId } from '../../auth/openid/open-id.js'
import type { Store } from '../../store/store.js'
import { LIMITED } from '../route/rate-limit.js'
import { answers } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const Schema = Type.Object(
  { success: Type.Array(Type.String()), failed: Type.Array(Type.String()) },
  { title: 'DatabaseSchema', description: 'success: what is good; failed is empty, since a start without it ends' },
)

const AppConfig = Type.Object(
  {
    defaultLanguage: Type.String(),
    defaultTheme: nullable(Type.String()),
    defaultThemeColor: nullable(Type.String()),
    logTz: Type.String({ description: 'The time zone of times without one' }),
    chatEnabled: Type.Boolean(),
  },
  { title: 'AppConfig' },
)

const Logo = Type.Object(
  { logo: nullable(Type.String({ description: 'As a data URL' })), isDefault: Type.Boolean() },
  { title: 'Logo' },
)

const LogoutUrl = Type.Object({ logoutUrl: nullable(Type.String()) }, { title: 'LogoutUrl' })

/**
 * Routes that pages of the product family call before anybody has signed in. Their answers tell nothing about this
 * installation.
 */
export function pageStartRoutes(deps: {
  readonly store: Pick<Store, 'check'>
  readonly openId: Pick<OpenId, 'logoutUrl' | 'isOn'>
}): FastifyPluginAsyncTypebox {
  const open = (summary: string, operationId: string) => ({ tags: ['pages'], summary, operationId, security: [] })

  return async (app) => {
    app.get(
      '/schema',
      {
        config: { public: true },
        schema: { ...open('Whether the database is ready', 'getSchema'), response: answers(Schema) },
      },
      async () => {
        await deps.store.check()
        return { success: ['The database is ready'], failed: [] }
      },
    )

    app.get(
      '/app/config',
      {
        config: { public: true },
        schema: { ...open('How a page begins', 'getAppConfig'), response: answers(AppConfig) },
      },
      async () => ({
        defaultLanguage: 'en',
        defaultTheme: null,
        defaultThemeColor: null,
        logTz: 'UTC',
        chatEnabled: false,
      }),
    )

    app.get(
      '/logo',
      {
        config: { public: true },
        schema: { ...open('The logo: pages show their own', 'getLogo'), response: answers(Logo) },
      },
      async () => ({ logo: null, isDefault: true }),
    )

    app.get(
      '/auth/logout',
      {
        config: { public: true, ...LIMITED },
        schema: {
          ...open('Where the session at the provider of oidc is ended; ends nothing here', 'getLogoutAddress'),
          response: answers(LogoutUrl, 429),
        },
      },
      async () => ({ logoutUrl: (await deps.openId.isOn('oidc')) ? await deps.openId.logoutUrl('oidc') : null }),
    )
  }
}
