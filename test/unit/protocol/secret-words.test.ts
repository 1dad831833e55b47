import { wordsOfSecret } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'

const base64 = (text: string) => Buffer.from(text).toString('base64')
/** The words besides the secret itself. */
const inside = (secret: string) => wordsOfSecret(secret).filter((word) => word !== secret.trim())

describe('the words of a secret', () => {
  test.each<[string, string, string[]]>([
    ['a password', 'aB3$x-_/kj', []],
    ['a phrase', 'correct horse battery', []],
    ['JSON', '{"a":[{"what":"Zx81-value"}],"mode":"production","port":5432,"on":true}', ['Zx81-value']],
    ['JSON in JSON', JSON.stringify({ a: JSON.stringify({ token: 'inner' }) }), ['{"token":"inner"}', 'inner']],
    ['JSON with a number', '{"pin":4711,"port":5432}', ['4711']],
    ['YAML', "db:\n  host: localhost\n  user: postgres\n  what: 'it''s #1 here'\n", ["it's #1 here"]],
    ['YAML with lists', 'keys:\n  - Zx81-value\n  - production\n', ['Zx81-value', 'production']],
    ['YAML in one line', '{user: app, password: flow1, host: db.example.com}', ['flow1']],
    ['YAML with a text of lines', 'token: |\n  first Line9\n  second Line9\n', ['first Line9', 'second Line9']],
    ['NAME=value', '# of it\nexport SECRET="a b;c" # not\nMODE=production\nNAME=Zx81value\n', ['a b;c', 'Zx81value']],
    ['an ini file', '[main]\nmode = production\npassword = a,b;c\n', ['a,b;c']],
    ['a connection string', 'Server=db;Password=abcd1;', ['abcd1']],
    ['words of libpq', "host=db password='x y z'", ['x y z']],
    ['a URL with a login', 'postgres://app:p%40s%2F@db/x', ['p%40s%2F', 'p@s/']],
    ['a URL whose password should be encoded', 'redis://:a/b#c@db:1/0', ['a/b#c']],
    ['a URL with a token', 'https://ghp_0123456789abcdef@example.com/x', ['ghp_0123456789abcdef']],
    ['a URL with a token in its query', 'https://example.com/y?token=abcd&mode=production', ['abcd']],
    ['an address to post to', 'https://example.com/services/T0000001/XyZ123456', ['T0000001', 'XyZ123456']],
    ['a URL without a login', 'https://example.com:8443/services/index.html', []],
    ['user:password', 'admin:pass:word', ['pass:word']],
    ['user:digits', 'admin:12345', ['12345']],
    ['a line of pgpass', 'localhost:5432:db:app:p4ss', ['p4ss']],
    ['netrc', 'machine h\n  login me\n  password hunter2\n', ['hunter2']],
    ['a header', 'Authorization: Bearer abcd.efgh', ['Bearer abcd.efgh', 'abcd.efgh']],
    ['base64 of a login', `{"auth":"${base64('me:hunter2')}"}`, [base64('me:hunter2'), 'me:hunter2', 'hunter2']],
    ['a secret of Kubernetes', `data:\n  a: ${base64('value-of-it-1')}\n`, [base64('value-of-it-1'), 'value-of-it-1']],
    ['a key', '-----BEGIN K-----\nabcd\nxyz\n-----END K-----', ['abcd']],
    ['lines', 'first one\nsecond: one\nthird one', ['first one', 'second: one', 'third one']],
  ])('that is %s', (_, secret, words) => {
    expect(inside(secret)).toEqual(expect.arrayContaining(words))
    const others = inside(secret).filter((word) => !words.includes(word))
    // Longer parts may be words, too; names and ordinary words never are.
    for (const other of others)
      expect(
        words.some((word) => other.includes(word)),
        other,
      ).toBe(true)
  })

  test.each([
    'production',
    'PostgreSQL',
    'service_account',
    'us-east-1',
    'db-01.example.com:5432',
    'someone@example.com',
    '10.20.30.40:8080',
    'fe80::1ff:fe23:4567:890a',
    '/etc/ssl/certs/ca.pem',
    'C:\\Program Files\\App',
    'application/json',
    '2026-11-27T10:00:00Z',
    'v1.20.4-rc1',
    'https://oauth2.example.com/token',
  ])('are not those of its ordinary values: %s', (value) => {
    expect(inside(JSON.stringify({ note: value }))).toEqual([])
  })

  test.each([
    ['password', 'abcd', true],
    ['db_password', 'postgres', true],
    ['api-key', 'abcd', true],
    ['pw', 'abcd', true],
    ['password', 'abc', false],
    ['password', 'null', false],
    ['token_url', 'https://example.com/', false],
    ['passwordFile', '/etc/x', false],
    ['spwx', 'abcd', false],
    ['note', 'abc-1x2', false],
    ['note', 'abcd-1x2', true],
  ])('depend on the name of a value: %s=%s is hidden: %s', (name, value, isHidden) => {
    expect(inside(JSON.stringify({ [name]: value })).includes(value)).toBe(isHidden)
    expect(inside(`${name}: ${value}\nother: x\n`).includes(value)).toBe(isHidden)
    expect(inside(`${name}=${value}\nother=x\n`).includes(value)).toBe(isHidden)
  })

  test('are bounded, and found in bounded time', () => {
    const many = Array.from({ length: 9000 }, (_, number) => `NAME_${number}=value-${number}x`).join('\n')
    expect(wordsOfSecret(many)).toHaveLength(2000)
    const hostile = ['[', '{"a":', 'a: {', 'a=', '"', "a='", 'a:"\\', 'http://', '-', ' ', 'a.', '/a', 'a-', ':', '%41']
    for (const part of hostile) {
      for (const text of [part.repeat(60_000), `x${part.repeat(60_000)}y`, `${part.repeat(60_000)}\nb`]) {
        expect(wordsOfSecret(text).length).toBeLessThanOrEqual(2000)
      }
    }
  })
})
