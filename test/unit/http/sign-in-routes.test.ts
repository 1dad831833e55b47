import { describe, expect, test } from 'vitest'
import { UnauthenticatedError, UnavailableError } from '../../../control-plane/src/errors.js'
import { type AuthRoutesDependencies, authRoutes } from '../../../control-plane/src/http/sign-in/auth.js'
import { browserSessionRoutes } from '../../../control-plane/src/http/sign-in/browser-session.js'
import { confirmRoutes } from '../../../control-plane/src/http/sign-in/confirm-sign-in.js'
import { ANN, routeApp } from './route-app.js'

const USER = { id: 9, username: 'ben', type: 'local', passwordMustChange: false }
const NOTED = { user: { name: 'ben', type: 'local', id: 9 } }
const PAIR = { token: 'short', refreshtoken: 'r' }
const PAGE = { 'sec-fetch-site': 'same-origin', 'x-holdfast-page': '1', host: 'localhost' }
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

interface Given {
  readonly caller?: typeof ANN
  readonly known?: typeof USER | null
  readonly pair?: object
  readonly mayHaveTokens?: boolean
}

async function auth({ caller = ANN, known = USER, pair = PAIR, mayHaveTokens = true }: Given = {}) {
  const asked: unknown[][] = []
  const deps = {
    signIn: {
      knownAs: async () => known,
      signIn: async (username: string, password: string, ip: string, note: (user: typeof USER) => void) => {
        asked.push(['signIn', username, password, ip])
        if (password === 'wrong') throw new UnauthenticatedError('credentials_wrong', 'No')
        note(USER)
        return pair
      },
    },
    sessions: {
      authenticate: async () => ({ ...ANN, options: { allowApiTokens: mayHaveTokens } }),
      refresh: async (token: string, note: (user: typeof USER) => void) => {
        asked.push(['refresh', token])
        note(USER)
        return PAIR
      },
      end: async (sessionId: string) => void asked.push(['end', sessionId]),
    },
    apiTokens: {
      mostDays: 90,
      create: async (_caller: unknown, wish: object) => {
        asked.push(['create', wish])
        return { token: 'long', record: { sid: 't1' } }
      },
    },
    openId: { logoutUrl: async (kind: string) => (kind === 'oidc' ? 'https://idp/out' : null) },
  } as unknown as AuthRoutesDependencies
  return { asked, ...(await routeApp(authRoutes(deps), caller)) }
}

describe('a sign-in of a program', () => {
  const json = { username: 'ben', password: 'secret' }

  test('takes a body, or HTTP Basic, whose password may have colons', async () => {
    const { call, asked, noted } = await auth()
    const answer = await call('POST', '/auth/login', { json })
    expect(answer).toMatchObject({ status: 200, body: PAIR })
    await call('POST', '/auth/login', { headers: basic('ben:a:b:') })
    await call('POST', '/auth/login', { headers: basic('b:') })
    expect(asked).toEqual([
      ['signIn', 'ben', 'secret', '127.0.0.1'],
      ['signIn', 'ben', 'a:b:', '127.0.0.1'],
      ['signIn', 'b', '', '127.0.0.1'],
    ])
    expect(noted()).toEqual(NOTED)
  })

  test.each([
    ['nothing', {}],
    ['a name alone in HTTP Basic', basic('ben')],
    ['no name in HTTP Basic', basic(':secret')],
    ['another scheme', { authorization: 'Bearer x' }],
  ])('is refused with %s', async (_what, headers) => {
    const { call, asked } = await auth()
    expect(await call('POST', '/auth/login', { headers })).toMatchObject({
      status: 401,
      body: { code: 'credentials_missing' },
    })
    expect(asked).toEqual([])
  })

  test('that fails names the user in its record only if there is one', async () => {
    const wrong = { json: { username: 'ben', password: 'wrong' } }
    const of = async (known: typeof USER | null) => {
      const { call, noted } = await auth({ known })
      expect((await call('POST', '/auth/login', wrong)).status).toBe(401)
      return noted()
    }
    expect([await of(USER), await of(null)]).toEqual([NOTED, {}])
  })

  test.each<[unknown, number | null]>([
    [1, 1],
    ['1', 1],
    [30, 30],
    ['2.9', 2],
    [90, 90],
    [91, 90],
    ['never', 90],
    [0, null],
    [-1, null],
    ['0.9', null],
    ['soon', null],
  ])('for %j days: an API token for %j', async (expiryDays, days) => {
    const { call, asked, noted } = await auth()
    const { body } = await call('POST', '/auth/login', { json: { ...json, expiryDays, name: 'ci' } })
    expect(body).toEqual(days === null ? PAIR : { ...PAIR, token: 'long' })
    expect(asked.slice(1)).toEqual(days === null ? [] : [['create', { name: 'ci', days, scopes: null }]])
    expect(noted()).toEqual(days === null ? NOTED : { ...NOTED, detail: 'API token t1' })
  })

  test('also takes the days from the query, and with HTTP Basic', async () => {
    const { call, asked } = await auth()
    await call('POST', '/auth/login?expiryDays=7', { json })
    await call('POST', '/auth/login', { json: { expiryDays: 8 }, headers: basic('ben:secret') })
    expect(asked.filter(([what]) => what === 'create')).toEqual([
      ['create', { name: null, days: 7, scopes: null }],
      ['create', { name: null, days: 8, scopes: null }],
    ])
  })

  test.each<Given>([{ mayHaveTokens: false }, { pair: { ...PAIR, passwordMustChange: true } }])(
    'gets no API token if the user may have none (%j)',
    async (given) => {
      const { call, asked } = await auth(given)
      const { body } = await call('POST', '/auth/login', { json: { ...json, expiryDays: 7 } })
      expect([body.token, asked.length]).toEqual(['short', 1])
    },
  )
})

test('a refresh names its user', async () => {
  const { call, asked, noted } = await auth()
  expect((await call('POST', '/token', { json: { refreshtoken: 'r1' } })).body).toEqual(PAIR)
  expect([asked, noted()]).toEqual([[['refresh', 'r1']], NOTED])
})

test.each([
  ['local', undefined],
  ['oidc', 'https://idp/out'],
  ['azuread', undefined],
] as const)('who signs out is told where the provider ends its session: %s', async (type, logoutUrl) => {
  const { call, asked } = await auth({ caller: { ...ANN, type } })
  const { body } = await call('POST', '/auth/logout')
  expect([body, asked]).toEqual([{ message: 'Signed out', ...(logoutUrl ? { logoutUrl } : {}) }, [['end', 's1']]])
})

describe('a sign-in of a browser', () => {
  async function browser({ user = USER, caller = ANN }: { user?: typeof USER; caller?: typeof ANN } = {}) {
    const ended: string[] = []
    const deps = {
      signIn: {
        knownAs: async () => null,
        identify: async (_name: string, password: string) => {
          if (password === 'wrong') throw new UnauthenticatedError('credentials_wrong', 'No')
          return user
        },
      },
      browserSessions: { begin: async () => 'value', mostMs: 61_999 },
      sessions: { end: async (id: string) => void ended.push(id) },
      openId: { logoutUrl: async (kind: string) => (kind === 'oidc' ? 'https://idp/out' : null) },
      publicUrl: null,
    } as unknown as Parameters<typeof browserSessionRoutes>[0]
    return { ended, ...(await routeApp(browserSessionRoutes(deps), caller)) }
  }
  const json = { username: 'ben', password: 'secret' }

  test('sets a cookie, and has no token', async () => {
    const { call, noted } = await browser()
    const answer = await call('POST', '/auth/session', { json, headers: PAGE })
    expect(answer).toMatchObject({ status: 200, body: { username: 'ben' } })
    expect(answer.headers['set-cookie']).toBe(
      '__Host-holdfast_session=value; Path=/; HttpOnly; SameSite=Strict; Max-Age=61; Secure',
    )
    expect([Object.keys(answer.body), noted()]).toEqual([['username'], NOTED])
  })

  test('says when the password has to be changed', async () => {
    const { call } = await browser({ user: { ...USER, passwordMustChange: true } })
    const { body } = await call('POST', '/auth/session', { json, headers: PAGE })
    expect(body).toEqual({ username: 'ben', passwordMustChange: true })
  })

  test('is for pages of this service only, and a wrong password sets no cookie', async () => {
    const { call } = await browser()
    const foreign = await call('POST', '/auth/session', { json, headers: { ...PAGE, 'sec-fetch-site': 'cross-site' } })
    expect(foreign).toMatchObject({ status: 403, body: { code: 'not_our_page' } })
    const wrong = await call('POST', '/auth/session', { json: { ...json, password: 'wrong' }, headers: PAGE })
    expect([wrong.status, wrong.headers['set-cookie']]).toEqual([401, undefined])
  })

  test.each([
    ['local', undefined],
    ['oidc', 'https://idp/out'],
    ['azuread', undefined],
  ] as const)('ends with its session, the cookie and what the browser kept: %s', async (type, logoutUrl) => {
    const { call, ended } = await browser({ caller: { ...ANN, type } })
    const { body, headers } = await call('DELETE', '/auth/session', { headers: PAGE })
    expect(body).toEqual({ message: 'Signed out', ...(logoutUrl ? { logoutUrl } : {}) })
    expect(headers['set-cookie']).toMatch(/^__Host-holdfast_session=; .*Max-Age=0/)
    expect([headers['clear-site-data'], ended]).toEqual(['"cache", "storage"', ['s1']])
  })
})

describe('the question of a browser', () => {
  const TAG = '0123456789abcdef'

  async function confirm() {
    const given: unknown[][] = []
    const signIn = {
      questions: {
        answered: async (cookie: string | undefined, ticket: string) => {
          given.push(['answered', cookie, ticket])
          if (ticket === 'old') throw new UnavailableError('away', 'Later')
          return { user: USER, question: { redirect: 'http://127.0.0.1:5/done', challenge: 'c' } }
        },
      },
      codes: {
        give: async (_user: unknown, challenge: string) => {
          given.push(['give', challenge])
          return 'code'
        },
      },
    } as unknown as Parameters<typeof confirmRoutes>[0]['signIn']
    return { given, ...(await routeApp(confirmRoutes({ signIn, publicUrl: null }))) }
  }
  const ask = (answer: string, ticket = 'ticket') => ({
    json: { sign_in: TAG, ticket, answer },
    headers: { cookie: `holdfast_question_${TAG}=asked` },
  })

  test.each([
    ['yes', 'http://127.0.0.1:5/done?code=code', [['give', 'c']]],
    ['no', 'http://127.0.0.1:5/done?error=sign_in_refused&error_description=You+said+no+in+the+browser', []],
  ])('is answered with %s, and the browser goes back to the program', async (answer, location, given) => {
    const app = await confirm()
    const said = await app.call('POST', '/auth/confirm', ask(answer))
    expect(said).toMatchObject({ status: 302, headers: { location }, body: { location } })
    expect(said.headers['set-cookie']).toMatch(new RegExp(`^holdfast_question_${TAG}=; .*Max-Age=0`))
    expect([app.given, app.noted()]).toEqual([[['answered', 'asked', 'ticket'], ...given], NOTED])
  })

  test('that is not answered keeps its cookie', async () => {
    const { call } = await confirm()
    const failed = await call('POST', '/auth/confirm', ask('yes', 'old'))
    expect([failed.status, failed.headers['set-cookie']]).toEqual([503, undefined])
  })
})
