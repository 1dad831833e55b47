import { lookup } from 'node:dns'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AddressRules,
  isHostIn,
  parseHostRules,
  refuseAddress,
} from '../../../control-plane/src/sources/address-rules.js'
import { type ResolveName, sendRequest } from '../../../control-plane/src/sources/http-request.js'
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.js'

const rules = (allowed = '', denied = ''): AddressRules => ({
  allowed: parseHostRules(allowed),
  denied: parseHostRules(denied),
})

/** Names of the tests, all of them without a server of the machine. */
const NAMES: Readonly<Record<string, string[]>> = {
  'first.test': ['127.0.0.1'],
  'other.test': ['127.0.0.1'],
  'public.test': ['8.8.8.8'],
  'inside.test': ['127.0.0.1'],
  'both.test': ['8.8.8.8', '127.0.0.1'],
  'mapped.test': ['::ffff:127.0.0.1'],
}

const resolveName = ((host: string, _options: object, done: (error: Error | null, found: object[]) => void) => {
  const found = NAMES[host]
  if (!found) done(new Error('ENOTFOUND'), [])
  else
    done(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
}) as unknown as ResolveName

let server: AnsweringServer
let target: AnsweringServer
beforeAll(async () => {
  target = await startAnsweringServer({
    '/secret': { found: true },
    '/headers': ({ headers }, response) => response.end(JSON.stringify(headers)),
  })
  server = await startAnsweringServer({
    '/redirect': (_asked, response) =>
      response.writeHead(302, { location: `http://inside.test:${target.port}/secret` }).end(),
    '/other': (_asked, response) =>
      response.writeHead(307, { location: `http://other.test:${target.port}/headers` }).end(),
    '/loop': (_asked, response) => response.writeHead(302, { location: '/loop' }).end(),
    '/file': (_asked, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    '/choices': (_asked, response) => response.writeHead(300).end('{}'),
    '/long': (_asked, response) => response.end(Buffer.alloc(11 * 1024 * 1024, 32)),
  })
})
afterAll(async () => {
  await server.close()
  await target.close()
})

const ask = async (given: AddressRules, url: string, headers: Record<string, string> = {}, names = resolveName) =>
  sendRequest(given, { method: 'get', url, headers, signal: new AbortController().signal }, names).then(
    ({ text }) => text,
    (error: Error) => error.message,
  )

describe('private addresses are refused, however they are written', () => {
  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::10.0.0.1]/',
    'http://[fe80::1]/',
    'http://[fd00::1]/',
    'http://[2002:7f00:1::]/',
    'http://10.1.2.3/',
    'http://172.31.0.1/',
    'http://192.168.1.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://100.64.0.1/',
    'http://0.0.0.0/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://inside.test/',
    'http://both.test/',
    'http://mapped.test/',
  ])('%s', async (url) => {
    expect(await ask(rules(), url)).toMatch(/is private: forms may ask it only when REST_ALLOWED_HOSTS names it/)
  })

  test('a name of the machine that resolves to a private address', async () => {
    expect(await ask(rules(), `http://localhost:${target.port}/secret`, {}, lookup)).toContain('is private')
    expect(target.asked).toEqual([])
  })
})

describe('without a setting, an address of the internet is asked', () => {
  test.each(['8.8.8.8', '1.1.1.1', '223.255.255.255', '::ffff:8.8.8.8', '64:ff9b::808:808', '2606:4700::1111'])(
    '%s',
    (address) => {
      expect(() => refuseAddress(rules(), 'public.test', address)).not.toThrow()
    },
  )

  test.each(['224.0.0.0', '223.255.256.0', 'no address', '::', '1fff::1', '4000::1', 'ff02::1', '2001:db8::1'])(
    'and what is none is refused: %s',
    (address) => {
      expect(() => refuseAddress(rules(), 'public.test', address)).toThrow()
    },
  )
})

test('a network of IPv6 neither allows nor denies an address of IPv4', () => {
  expect(() => refuseAddress(rules('::/0'), 'inside.test', '10.0.0.1')).toThrow('is not in REST_ALLOWED_HOSTS')
  expect(() => refuseAddress(rules('::/0'), 'inside.test', 'fd00::1')).not.toThrow()
  expect(() => refuseAddress(rules('', '::/0'), 'public.test', '8.8.8.8')).not.toThrow()
})

describe('allowed addresses', () => {
  test('only those that the list names, by host, address or network', async () => {
    const secret = `http://inside.test:${target.port}/secret`
    for (const allowed of ['inside.test', '*.test', '127.0.0.0/8', '127.0.0.1, other.test', 'INSIDE.test']) {
      expect(await ask(rules(allowed), secret), allowed).toBe('{"found":true}')
    }
    expect(await ask(rules('api.test'), secret)).toBe('the host inside.test is not in REST_ALLOWED_HOSTS')
    expect(await ask(rules('api.test'), 'http://public.test/')).toBe(
      'the host public.test is not in REST_ALLOWED_HOSTS',
    )
    expect(await ask(rules('test'), secret)).toBe('the host inside.test is not in REST_ALLOWED_HOSTS')
  })

  test('denied addresses stay denied', async () => {
    const secret = `http://inside.test:${target.port}/secret`
    expect(await ask(rules('inside.test', 'inside.test'), secret)).toBe('the host inside.test is in REST_DENIED_HOSTS')
    expect(await ask(rules('*.test', '127.0.0.0/8'), secret)).toBe(
      'the address 127.0.0.1 of inside.test is in REST_DENIED_HOSTS',
    )
    expect(await ask(rules('mapped.test', '127.0.0.1'), 'http://mapped.test/')).toContain('is in REST_DENIED_HOSTS')
  })

  test('a denied network denies an address in the form that it has and in the form that it stands for', () => {
    const refused = (denied: string, address: string) => () => refuseAddress(rules('', denied), 'x.test', address)
    expect(refused('64:ff9b::/96', '64:ff9b::808:808')).toThrow('is in REST_DENIED_HOSTS')
    expect(refused('8.8.8.8', '64:ff9b::808:808')).toThrow('the address 8.8.8.8 of x.test is in REST_DENIED_HOSTS')
    expect(refused('8.8.8.9', '64:ff9b::808:808')).not.toThrow()
    expect(refused('', 'no address')).toThrow()
  })
})

describe('redirects', () => {
  test('to a private address are refused after the first server was allowed', async () => {
    const before = target.asked.length
    expect(await ask(rules('first.test'), `http://first.test:${server.port}/redirect`)).toBe(
      'the host inside.test is not in REST_ALLOWED_HOSTS',
    )
    expect(target.asked.length).toBe(before)
  })

  test('to another server carry no credentials', async () => {
    const text = await ask(rules('*.test'), `http://inside.test:${server.port}/other`, {
      authorization: 'Basic x',
      'x-key': 'y',
    })
    expect(JSON.parse(text)).not.toHaveProperty('authorization')
    expect(JSON.parse(text)).not.toHaveProperty('x-key')
  })

  test('end, and never lead to files', async () => {
    expect(await ask(rules('*.test'), `http://inside.test:${server.port}/loop`)).toContain(
      'redirects more than 5 times',
    )
    expect(await ask(rules('*.test'), `http://inside.test:${server.port}/file`)).toBe('the URL must be http or https')
  })
})

test('an answer that is neither a success nor a redirect is a problem', async () => {
  const url = `http://inside.test:${server.port}/choices`
  expect(await ask(rules('*.test'), url)).toBe(`GET ${url} answered 300`)
})

test('answers that are too long, other schemes and secrets in a URL are refused', async () => {
  expect(await ask(rules('*.test'), `http://inside.test:${server.port}/long`)).toContain('is longer than')
  expect(await ask(rules('*.test'), 'gopher://inside.test/')).toBe('the URL must be http or https')
  expect(await ask(rules('*.test'), 'http://a:b@inside.test/')).toBe('the URL must not hold a user or password')
  expect(await ask(rules('*.test'), 'no url')).toBe('the URL is not valid')
})

describe('an entry of a list of hosts', () => {
  test.each(['http://x', 'a b', '*', '*x.test', 'a..b', '10.0.0.0.0/8/', '[x]'])(
    'that is neither a name nor an address is refused: %s',
    (text) => {
      expect(() => parseHostRules(`fine.test, ${text}`)).toThrow(`${text} is no host name, address or network`)
    },
  )

  test.each(['10.0.0.0/33', '10.0.0.0/64', '10.0.0.0/128', '10.0.0.0/x', '10.0.0.0/', '::/129', '::/1000'])(
    'that is too long for a network is refused: %s',
    (text) => {
      expect(() => parseHostRules(text)).toThrow(`${text} is no network`)
    },
  )

  test.each([
    ['0.0.0.0/0', '10.1.2.3', true],
    ['10.1.2.3/32', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.4', false],
    ['10.0.0.0/8', '10.1.2.3', true],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['10.0.0.0/8', '11.1.2.3', false],
    ['10.0.0.0/8', 'web1', false],
    ['::/0', 'fe80::1', true],
    ['fe80::1/128', 'fe80::1', true],
    ['fe80::1', 'fe80::1', true],
    ['fe80::1', 'fe80::2', false],
    ['[fe80::1]', 'fe80::1', true],
    ['web1, *.example.com', 'web1', true],
    ['web1, *.example.com', 'a.example.com.', true],
    ['web1, *.example.com', 'example.com', false],
    ['', 'web1', false],
  ])('%j names %s: %s', (entry, host, isIn) => {
    expect(isHostIn(parseHostRules(entry), host)).toBe(isIn)
  })

  test('is not there in a list of commas and spaces', () => {
    expect(parseHostRules(' , ,').isEmpty).toBe(true)
    expect(parseHostRules(' ,a,').isEmpty).toBe(false)
  })
})
