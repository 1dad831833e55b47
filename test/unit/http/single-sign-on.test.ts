import { describe, expect, test } from 'vitest'
import { UnauthenticatedError, UnavailableError } from '../../../control-plane/src/errors.js'
import {
  type SingleSignOnDependencies,
  singleSignOnRoutes,
} from '../../../control-plane/src/http/sign-in/single-sign-on.js'
import { ANN, routeApp } from './route-app.js'

const STATE = '0123456789abcdef-state'
const USER = { id: 9, username: 'ben', type: 'oidc' }
const CHALLENGE = 'A'.repeat(43)

interface Given {
  readonly flow?: object | null
  readonly failure?: Error
  readonly publicUrl?: string | null
}

async function routes({ flow = null, failure, publicUrl = null }: Given = {}) {
  const begun: { client: unknown; page: unknown }[] = []
  const finished: string[] = []
  const failures: string[] = []
  const deps = {
    store: { read: {} },
    signIn: {
      openId: {
        begin: async (_kind: string, wish: { client: unknown; page: unknown }) => {
          begun.push(wish)
          return { location: 'https://idp/authorize', cookie: 'flow', tag: '0123456789abcdef' }
        },
        underWay: async () => flow,
        finish: async (_flow: object, query: string) => {
          finished.push(query)
          if (failure) throw failure
          return {}
        },
      },
      admit: async (_identity: object, note: (user: typeof USER) => void) => {
        note(USER)
        return USER
      },
      questions: { ask: async () => 'question' },
      codes: {},
    },
    sessions: { begin: async () => ({ token: 't', refreshtoken: 'r' }) },
    browserSessions: { begin: async () => 'session', mostMs: 61_999 },
    publicUrl,
    meters: { signInFailed: () => void failures.push('failed') },
  } as unknown as SingleSignOnDependencies
  return { begun, finished, failures, ...(await routeApp(singleSignOnRoutes(deps), ANN)) }
}

describe('the program that opened the browser', () => {
  const query = (values: Readonly<Record<string, string>>) => `/auth/oidc?${new URLSearchParams(values).toString()}`
  const REDIRECT = 'http://127.0.0.1:5000/done?a=1'

  test.each([['http://127.0.0.1:5000/done?a=1'], ['http://[::1]:5000/']])(
    'is on the machine of the browser: %s',
    async (redirect) => {
      const { call, begun } = await routes()
      const answer = await call('GET', query({ redirect, challenge: CHALLENGE, machine: ' my\u0007 laptop ' }))
      expect(answer).toMatchObject({ status: 302, headers: { location: 'https://idp/authorize' } })
      expect(String(answer.headers['set-cookie'])).toMatch(/^holdfast_sign_in_0123456789abcdef=flow;/)
      expect(begun).toEqual([{ client: { redirect, challenge: CHALLENGE, machine: 'my laptop' }, page: null }])
    },
  )

  test.each([
    'https://127.0.0.1:5000/',
    'http://127.0.0.1/',
    'http://127.0.0.2:5000/',
    'http://localhost:5000/',
    'http://evil.example:5000/',
    'http://user@127.0.0.1:5000/',
    'http://:secret@127.0.0.1:5000/',
    'http://127.0.0.1:5000/#part',
    'no address',
    '',
  ])('is nowhere else: %j', async (redirect) => {
    const { call, begun } = await routes()
    expect(await call('GET', query({ redirect, challenge: CHALLENGE }))).toMatchObject({
      status: 400,
      body: { code: 'invalid_redirect' },
    })
    expect(begun).toEqual([])
  })

  test('says who may exchange the code', async () => {
    const { call } = await routes()
    for (const challenge of ['A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}=`])
      expect((await call('GET', query({ redirect: REDIRECT, challenge }))).body.code).toBe('invalid_challenge')
    expect((await call('GET', query({ redirect: REDIRECT }))).body.code).toBe('invalid_challenge')
    expect((await call('GET', query({ challenge: CHALLENGE }))).body.code).toBe('invalid_redirect')
  })

  test('need not be, nor have a name', async () => {
    const { call, begun } = await routes()
    await call('GET', query({ redirect: REDIRECT, challenge: CHALLENGE, machine: ' \u0000' }))
    await call('GET', query({ redirect: REDIRECT, challenge: CHALLENGE }))
    await call('GET', '/auth/oidc')
    await call('GET', '/auth/oidc?to=/jobs/7')
    const client = { redirect: REDIRECT, challenge: CHALLENGE, machine: null }
    expect(begun).toEqual([
      { client, page: null },
      { client, page: null },
      { client: null, page: null },
      { client: null, page: '/jobs/7' },
    ])
  })

  test.each(['//evil.example', '/\\evil.example', 'https://evil.example', 'jobs', '/a\\b'])(
    'and a page is one of this service, not %s',
    async (to) => {
      const { call, begun } = await routes()
      expect((await call('GET', query({ to }))).status).toBe(400)
      expect(begun).toEqual([])
    },
  )
})

describe('the way back', () => {
  const CALLBACK = `/auth/oidc/callback?code=c&state=${STATE}`
  const CLIENT = { redirect: 'http://127.0.0.1:5000/done', challenge: CHALLENGE, machine: null }
  const cookiesOf = (headers: Readonly<Record<string, unknown>>) => [headers['set-cookie']].flat().map(String)
  const NOTED = { user: { name: 'ben', type: 'oidc', id: 9 } }

  test('gives tokens to a program without a browser of its own, and removes the cookie of the sign-in', async () => {
    const { call, finished, noted } = await routes({ flow: { state: STATE } })
    const { status, body, headers } = await call('GET', CALLBACK)
    expect([status, body]).toEqual([200, { token: 't', refreshtoken: 'r' }])
    expect(cookiesOf(headers)).toEqual([expect.stringMatching(/^holdfast_sign_in_\w+=; .*Max-Age=0/)])
    expect([finished, noted()]).toEqual([[`?code=c&state=${STATE}`], NOTED])
  })

  test('signs a browser in, and goes on to its page', async () => {
    const publicUrl = 'https://jobs.example'
    const { call } = await routes({ flow: { state: STATE, page: '/jobs/7' }, publicUrl })
    const { status, headers } = await call('GET', CALLBACK)
    expect([status, headers.location]).toEqual([302, `${publicUrl}/jobs/7`])
    expect(cookiesOf(headers)).toEqual([
      expect.stringMatching(/^__Host-holdfast_sign_in_\w+=; /),
      '__Host-holdfast_session=session; Path=/; HttpOnly; SameSite=Strict; Max-Age=61; Secure',
    ])
  })

  test('asks first when a program opened the browser', async () => {
    const { call } = await routes({ flow: { state: STATE, client: CLIENT } })
    const { status, headers } = await call('GET', CALLBACK)
    expect([status, headers.location]).toEqual([302, expect.stringMatching(/^\/api\/v2\/auth\/confirm\?sign_in=\w+$/)])
    expect(cookiesOf(headers)[1]).toMatch(/^holdfast_question_\w+=question; /)
  })

  test('without a sign-in that began here is refused, and counted', async () => {
    const of = async (publicUrl: string | null) => {
      const { call, failures } = await routes({ publicUrl })
      const { status, body } = await call('GET', CALLBACK)
      return [status, body.code, body.error, failures]
    }
    const text = (where: string) => `This browser began no sign-in${where}, or too long ago; begin it again there`
    expect(await of(null)).toEqual([401, 'sign_in_not_begun', text(''), ['failed']])
    const where = ' at https://jobs.example'
    expect(await of('https://jobs.example')).toEqual([401, 'sign_in_not_begun', text(where), ['failed']])
  })

  const refused = new UnauthenticatedError('not_admitted', 'Not you')
  const away = new UnavailableError('provider_away', 'Later')

  test.each([
    [refused, 401, ['failed']],
    [away, 503, []],
  ])('that fails is told to the program that waits: %s', async (failure, end, failures) => {
    const app = await routes({ flow: { state: STATE, client: CLIENT }, failure })
    const { status, headers } = await app.call('GET', CALLBACK)
    const told = new URLSearchParams({ error: failure.code, error_description: failure.message })
    expect([status, headers.location]).toEqual([302, `${CLIENT.redirect}?${told.toString()}`])
    expect([app.ends, app.failures]).toEqual([[end], failures])
  })

  test('that fails is told to the page, which has texts of its own', async () => {
    const flow = { state: STATE, page: '/jobs/7' }
    const app = await routes({ flow, failure: refused, publicUrl: 'https://jobs.example' })
    const { status, headers } = await app.call('GET', CALLBACK)
    expect([status, headers.location]).toEqual([
      302,
      'https://jobs.example/sign-in?refused=not_admitted&to=%2Fjobs%2F7',
    ])
    expect(app.ends).toEqual([401])
  })

  test.each([
    ['nobody waits', { state: STATE }, refused, 401],
    ['it is a mistake of the service', { state: STATE, client: CLIENT }, new TypeError('bug'), 500],
  ])('that fails is answered plainly when %s', async (_what, flow, failure, status) => {
    const { call, ends } = await routes({ flow, failure })
    expect((await call('GET', CALLBACK)).status).toBe(status)
    expect(ends).toEqual([])
  })
})

test('the other name of Entra ID leads to its sign-in', async () => {
  const of = async (publicUrl: string | null) =>
    (await (await routes({ publicUrl })).call('GET', '/auth/azureadoauth2')).headers.location
  expect(await of(null)).toBe('/api/v2/auth/azuread')
  expect(await of('https://jobs.example/base')).toBe('https://jobs.example/base/api/v2/auth/azuread')
})
