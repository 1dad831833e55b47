import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type FakeService, PASSWORD, startFakeService } from './fake-service.js'
import { type Person, newQuickPerson } from './run-cli.js'

const NEW = 'a new pass phrase'
const unauthorized = { status: 401, body: { error: 'No', code: 'bad_credentials' } }

/** Somebody at a control plane. Its first answers to a sign-in may say that the password must be changed. */
async function somebody(environment: Readonly<Record<string, string>> = {}) {
  const service = await startFakeService()
  onTestFinished(() => service.stop())
  const person = newQuickPerson({ HOLDFAST_SERVER: service.address, ...environment })
  return { service, person, ...aboutSession(person) }
}

function aboutSession(person: Person) {
  const path = join(person.home, 'holdfast/session.json')
  return {
    isSignedIn: () => existsSync(path),
    session: () => JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>,
    saves(session: Readonly<Record<string, string>>) {
      mkdirSync(join(person.home, 'holdfast'))
      writeFileSync(path, JSON.stringify(session))
    },
  }
}

/** Takes only one password, and says at once that it has to be changed. */
function mustChange(service: FakeService, first: string) {
  let password = first
  service.override = ({ method, path, body }) => {
    const given = body as Record<string, string>
    if (path === '/auth/login') {
      if (given['password'] !== password) return unauthorized
      const isFirst = password === first
      const pair = isFirst ? ['t1', 'r1'] : ['t2', 'r2']
      return { status: 200, body: { token: pair[0], refreshtoken: pair[1], passwordMustChange: isFirst } }
    }
    if (method !== 'PUT' || path !== '/profile') return null
    if (given['currentPassword'] !== password) return unauthorized
    password = given['password'] ?? ''
    return { status: 200, body: { message: 'Changed' } }
  }
}

describe('login', () => {
  it('asks for the name, which is shown, and for the password, which is not', async () => {
    const { service, person, session } = await somebody()
    const { code, stdout, stderr } = await person.run(['login'], { typed: ['admin', PASSWORD] })
    expect([code, stdout]).toEqual([0, `Signed in at ${service.address} as admin.\n`])
    expect(stderr).toBe(`Username: admin\r\nPassword of admin at ${service.address}: \n`)
    expect(session()).toEqual({
      server: service.address,
      username: 'admin',
      token: 'access-1',
      refreshtoken: 'refresh-1',
    })
  })

  it.each([
    [['-u', 'admin'], { HOLDFAST_PASSWORD: PASSWORD }, undefined],
    [['--password-stdin'], { HOLDFAST_USERNAME: 'admin' }, `${PASSWORD}\n`],
    [['-u', 'admin', '--password-stdin'], { HOLDFAST_USERNAME: 'bob', HOLDFAST_PASSWORD: 'wrong' }, PASSWORD],
  ] as const)('takes name and password from %j, %j and standard input %j', async (args, environment, input) => {
    const { service, person, session } = await somebody(environment)
    const { code, stdout } = await person.run(['login', '--json', ...args], input === undefined ? {} : { input })
    expect([code, JSON.parse(stdout)]).toEqual([0, { server: service.address, username: 'admin' }])
    expect(session()['username']).toBe('admin')
  })

  it.each([
    [['--password-stdin'], 'Whose password? Name the account with --username or HOLDFAST_USERNAME.'],
    [[], 'Whose password? Name the account with --username or HOLDFAST_USERNAME.'],
    [['-u', 'admin'], 'No terminal to ask for the password: use --password-stdin or HOLDFAST_PASSWORD.'],
    [['--oidc', '-u', 'admin'], 'Sign in one way: with a name and its password, with --oidc, or with --azuread.'],
    [['--oidc', '--azuread'], 'Sign in one way: with a name and its password, with --oidc, or with --azuread.'],
    [
      ['--azuread', '--password-stdin'],
      'Sign in one way: with a name and its password, with --oidc, or with --azuread.',
    ],
  ])('with %j sends nothing', async (args, sentence) => {
    const { service, person } = await somebody()
    const { code, stderr } = await person.run(['login', ...args], { input: PASSWORD })
    expect([code, stderr, service.seen]).toEqual([2, `holdfast: ${sentence}\n`, []])
  })

  it('says that name and password are wrong, and every other reason as it is', async () => {
    const { service, person, isSignedIn } = await somebody()
    const sign = () => person.run(['login', '-u', 'admin', '--password-stdin'], { input: 'wrong' })
    const wrong = await sign()
    expect([wrong.code, wrong.stderr]).toEqual([
      4,
      `holdfast: ${service.address} does not know a user admin with that password.\n`,
    ])
    service.override = () => ({ status: 403, body: { error: 'The account is blocked', code: 'blocked' } })
    const blocked = await sign()
    expect([blocked.code, blocked.stderr]).toEqual([5, 'holdfast: The account is blocked.\n'])
    expect(isSignedIn()).toBe(false)
  })

  it.each([
    ['--oidc', 'OpenID Connect', { oidcEnabled: false, azureAdEnabled: true }],
    ['--azuread', 'Entra ID', { oidcEnabled: true, azureAdEnabled: false }],
  ])('with %s needs a service that has it', async (option, name, kinds) => {
    const { service, person } = await somebody()
    service.override = () => ({ status: 200, body: { ldapEnabled: true, ...kinds } })
    const { code, stderr } = await person.run(['login', option])
    expect([code, stderr]).toEqual([2, `holdfast: ${service.address} has no sign-in by ${name}.\n`])
    expect(service.seen.map(({ path }) => path)).toEqual(['/auth/settings'])
  })
})

describe('a first password', () => {
  it('is changed at the terminal at once, and the session is that of the new one', async () => {
    const { service, person, session } = await somebody()
    mustChange(service, PASSWORD)
    const { code, stdout, stderr } = await person.run(['login', '-u', 'ada'], { typed: [PASSWORD, NEW, NEW] })
    expect([code, stdout]).toEqual([0, `Signed in at ${service.address} as ada.\n`])
    expect(stderr).toContain('This password has to be changed before anything else can be done.\n')
    expect(stderr).toContain('New password (at least 12 characters): \nOnce more: \n')
    expect(stderr).not.toContain(NEW)
    expect(session()).toEqual({ server: service.address, username: 'ada', token: 't2', refreshtoken: 'r2' })
    expect(service.seen.map(({ method, path, token }) => [method, path, token])).toEqual([
      ['POST', '/auth/login', null],
      ['PUT', '/profile', 't1'],
      ['POST', '/auth/login', null],
    ])
  })

  it('is changed later where nobody can be asked', async () => {
    const { service, person, session } = await somebody()
    mustChange(service, PASSWORD)
    const { code, stderr } = await person.run(['login', '-u', 'ada', '--password-stdin'], { input: PASSWORD })
    expect([code, stderr]).toEqual([
      0,
      'This password has to be changed before anything else can be done.\nChange it with: holdfast password\n',
    ])
    expect(session()['token']).toBe('t1')
  })
})

describe('password', () => {
  const signedIn = async () => {
    const all = await somebody()
    mustChange(all.service, PASSWORD)
    const { address: server } = all.service
    all.saves({ server, username: 'ada', token: 't1', refreshtoken: 'r1' })
    return all
  }

  it('takes the current and the new password from two lines, and signs in again', async () => {
    const { service, person, session } = await signedIn()
    const { code, stdout } = await person.run(['password', '--password-stdin'], { input: `${PASSWORD}\r\n${NEW}\n` })
    expect([code, stdout]).toEqual([0, 'The password was changed.\n'])
    expect(service.seen.map(({ method, path, token }) => [method, path, token])).toEqual([
      ['PUT', '/profile', 't1'],
      ['POST', '/auth/login', null],
    ])
    expect(session()).toEqual({ server: service.address, username: 'ada', token: 't2', refreshtoken: 'r2' })
  })

  it('asks at the terminal, shows nothing, and answers programs in JSON', async () => {
    const { service, person } = await signedIn()
    const { code, stdout, stderr } = await person.run(['password', '--json'], { typed: [PASSWORD, NEW, NEW] })
    expect([code, JSON.parse(stdout)]).toEqual([0, { server: service.address, username: 'ada' }])
    expect(stderr).toBe(
      `Current password of ada at ${service.address}: \nNew password (at least 12 characters): \nOnce more: \n`,
    )
  })

  it('changes nothing when the new one is typed in two ways', async () => {
    const { service, person } = await signedIn()
    const { code, stderr } = await person.run(['password'], { typed: [PASSWORD, NEW, `${NEW}!`] })
    expect([code, service.seen]).toEqual([2, []])
    expect(stderr).toContain('holdfast: The two passwords are different; nothing was changed.\n')
  })

  it.each(['', PASSWORD, `${PASSWORD}\n`, `\n${NEW}`, `${PASSWORD}\n${NEW}\nmore\n`])(
    'takes no other number of lines: %j',
    async (input) => {
      const { service, person } = await signedIn()
      const { code, stderr } = await person.run(['password', '--password-stdin'], { input })
      expect([code, service.seen]).toEqual([2, []])
      expect(stderr).toBe('holdfast: --password-stdin takes two lines: the current password and the new one.\n')
    },
  )

  it('needs a terminal or standard input, and a sign-in at that server', async () => {
    const { service, person } = await signedIn()
    const nobody = await person.run(['password'], { input: `${PASSWORD}\n${NEW}\n` })
    expect([nobody.code, nobody.stderr]).toEqual([
      2,
      'holdfast: No terminal to ask for the passwords: use --password-stdin.\n',
    ])
    const other = await person.run(['password', '--password-stdin', '--server', 'http://other.example'])
    expect([other.code, other.stderr]).toEqual([
      4,
      'holdfast: Not signed in at http://other.example. Sign in first: holdfast login\n',
    ])
    const stranger = await (await somebody()).person.run(['password', '--password-stdin'])
    expect([stranger.code, stranger.stderr]).toEqual([4, expect.stringContaining('Not signed in at')])
    expect(service.seen).toEqual([])
  })
})

describe('logout', () => {
  const signedOut = async (answer: { readonly status: number; readonly body: object }) => {
    const { service, person, saves, isSignedIn } = await somebody()
    saves({ server: service.address, username: 'ada', token: 't1', refreshtoken: 'r1' })
    service.override = ({ path }) => (path === '/auth/logout' ? answer : unauthorized)
    const { code, stdout, stderr } = await person.run(['logout'])
    expect([code, isSignedIn()]).toEqual([0, false])
    const said = stdout.replace(service.address, 'SERVER')
    return [said, stderr.replace(service.address, 'SERVER')]
  }

  it('says where else to sign out', async () => {
    expect(await signedOut({ status: 200, body: { message: 'm', logoutUrl: 'http://idp/end' } })).toEqual([
      'Signed out of SERVER.\nSign out at the provider, too: http://idp/end\n',
      '',
    ])
    expect(await signedOut({ status: 200, body: { message: 'm' } })).toEqual(['Signed out of SERVER.\n', ''])
  })

  it('says when the server did not hear of it, but not of a session that was over', async () => {
    expect(await signedOut({ status: 403, body: { error: 'No' } })).toEqual([
      'Signed out of SERVER.\n',
      'The server did not hear of it. The session there ends by itself: No.\n',
    ])
    expect(await signedOut(unauthorized)).toEqual(['Signed out of SERVER.\n', ''])
  })

  it('has nothing to end where nobody is signed in', async () => {
    const { person, service } = await somebody()
    const { code, stderr } = await person.run(['logout'])
    expect([code, stderr, service.seen]).toEqual([
      4,
      'holdfast: There is no saved sign-in, so there is nothing to end.\n',
      [],
    ])
  })
})

describe('a saved session', () => {
  it('is used at its own server, and HOLDFAST_TOKEN goes before it', async () => {
    const { service, person, saves } = await somebody()
    saves({ server: service.address, username: 'ada', token: 'script-token', refreshtoken: 'r1' })
    expect((await person.run(['job', 'list'])).code).toBe(0)
    const environment = { HOLDFAST_TOKEN: 'another' }
    const refused = await person.run(['job', 'list'], { environment })
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('The token in HOLDFAST_TOKEN is wrong')])
    expect(service.seen.map(({ token }) => token)).toEqual(['script-token', 'another'])
  })

  it('is not shown to another server', async () => {
    const { service, person, saves } = await somebody()
    saves({ server: 'http://other.example', username: 'ada', token: 'script-token', refreshtoken: 'r1' })
    const { code, stderr } = await person.run(['job', 'list'])
    expect([code, stderr, service.seen]).toEqual([
      4,
      `holdfast: Not signed in at ${service.address}. Sign in with: holdfast login --server ${service.address}\n`,
      [],
    ])
  })
})
