import type { Chance } from '../chaos/kit/seed.js'
import { type Draft, type Ending, render } from './draft.js'

/** What comes over a socket that is no request, or more than one, made from a request that was right. */
const KINDS: Readonly<Record<string, (draft: Draft, chance: Chance) => Buffer | readonly [Buffer, Ending]>> = {
  'random bytes': (_draft, chance) => bytes(chance, chance.pick([1, 20, 300, 5000])),
  'random lines': (_draft, chance) => Buffer.from(`${bytes(chance, 40).toString('base64')}\r\n\r\n`.repeat(3)),
  'flipped bytes': (draft, chance) => {
    const changed = Buffer.from(render(draft))
    for (let count = chance.between(1, 8); count > 0; count -= 1) {
      changed[chance.between(0, changed.length - 1)] = chance.between(0, 255)
    }
    return changed
  },
  'half a request': (draft, chance) => cut(draft, chance),
  'half a request, left alone': (draft, chance) => [cut(draft, chance), 'drop'],
  'left alone before the answer': (draft) => [render(draft), 'drop'],
  'pipelined requests': (draft, chance) =>
    Buffer.concat(Array.from({ length: chance.between(2, 12) }, () => render(draft))),
  'pipelined with garbage': (draft, chance) => Buffer.concat([render(draft), bytes(chance, 30), render(draft)]),
  'HTTP/1.0': (draft) => render({ ...draft, version: 'HTTP/1.0', headers: [] }),
  'HTTP/0.9': (draft) => Buffer.from(`GET ${draft.path}\r\n`),
  'HTTP/2 preface': () => Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'),
  'another version': (draft, chance) =>
    render({ ...draft, version: chance.pick(['HTTP/3.0', 'HTTP/1.2', 'HTTP/9.9', 'HTCPCP/1.0', 'http/1.1']) }),
  'TLS hello': (_draft, chance) =>
    Buffer.concat([Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]), bytes(chance, 200)]),
  'oversized head': (draft, chance) =>
    render({ ...draft, headers: [...draft.headers, ['x-a', 'x'.repeat(chance.pick([20_000, 200_000]))]] }),
  'oversized target': (draft) => render({ ...draft, query: 'x'.repeat(100_000) }),
  'two lengths': (draft) => withHeaders(draft, ['content-length: 3', 'content-length: 5'], 'abc'),
  'length and chunks': (draft) => withHeaders(draft, ['content-length: 5', 'transfer-encoding: chunked'], '0\r\n\r\n'),
  'length that is none': (draft, chance) =>
    withHeaders(
      draft,
      [`content-length: ${chance.pick(['-1', 'x', '1e3', '0x5', '+5', '99999999999999999999'])}`],
      'abc',
    ),
  'length too small': (draft) => withHeaders(draft, ['content-length: 2', 'content-type: application/json'], '{"a":1}'),
  'broken chunks': (draft, chance) =>
    withHeaders(
      draft,
      ['transfer-encoding: chunked', 'content-type: application/json'],
      chance.pick([
        'zz\r\n{}\r\n0\r\n\r\n',
        '5\r\n{}',
        '-1\r\n',
        'fffffffffffffffff\r\nx',
        '2\r\n{}0\r\n\r\n',
        '2;ext="\r\n{}\r\n0\r\n\r\n',
        `2\r\n{}\r\n0\r\n${'a: b\r\n'.repeat(3000)}\r\n`,
      ]),
    ),
  'strange transfer coding': (draft, chance) =>
    withHeaders(
      draft,
      [
        `transfer-encoding: ${chance.pick(['gzip', 'identity', 'chunked, chunked', 'xchunked', ' chunked', 'chunked, gzip'])}`,
      ],
      '0\r\n\r\n',
    ),
  'header lines that are none': (draft, chance) =>
    withHeaders(
      draft,
      [chance.pick(['no colon', ': no name', ' folded', 'a b: c', 'x: \0', 'x:\x01', 'é: é', 'x: a\rb', '\0'])],
      '',
    ),
  'bare line feeds': (draft) => Buffer.from(render(draft).toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
  CONNECT: () => Buffer.from('CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: x\r\n\r\n'),
  star: () => Buffer.from('OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n'),
  'no host': (draft) => Buffer.from(`GET ${draft.path} HTTP/1.1\r\n\r\n`),
  'two hosts': (draft) => withHeaders(draft, ['host: a', 'host: b'], ''),
  expectation: (draft) => withHeaders(draft, ['host: x', 'expect: miracles'], ''),
  upgrade: (draft, chance) =>
    Buffer.from(
      `GET ${chance.pick(['/api/v2/rte/socket', '/api/v2/live', draft.path, '/'])} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\n` +
        `upgrade: ${chance.pick(['websocket', 'h2c', 'x'])}\r\nsec-websocket-version: ${chance.pick(['13', '8', 'x'])}\r\n` +
        `sec-websocket-key: ${chance.pick(['dGhlIHNhbXBsZSBub25jZQ==', 'x', ''])}\r\n` +
        `sec-websocket-protocol: ${chance.pick(['x', 'holdfast-runner.v1', ',,,'])}\r\n\r\n${bytes(chance, 60).toString('latin1')}`,
      'latin1',
    ),
  'files of the page': (_draft, chance) =>
    Buffer.from(
      `GET /api/v2/docs${chance.pick(['', '/', '/json', '/yaml', '/static/../../../../../../etc/passwd', '/static/%2e%2e/%2e%2e/package.json', '/static/index.html', '/static/%00', '/static/', '/%ff'])} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    ),
  'empty lines': () => Buffer.from('\r\n'.repeat(100)),
  nothing: () => Buffer.alloc(0),
}

/** Makes something wild of a draft. What it may do is what its caller may do, so that is nobody of power. */
export function makeWild(draft: Draft, chance: Chance): void {
  const name = chance.pick(Object.keys(KINDS))
  const made = KINDS[name]?.(draft, chance) ?? Buffer.alloc(0)
  const [raw, ending] = Buffer.isBuffer(made) ? [made, 'half-close' as const] : made
  Object.assign(draft, { kind: 'wild', twist: name, raw, ending })
  if (chance.next() < 0.3) draft.breakAfter = chance.between(1, 100)
}

function bytes(chance: Chance, count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, () => chance.between(0, 255)))
}

function cut(draft: Draft, chance: Chance): Buffer {
  const whole = render(draft)
  return whole.subarray(0, chance.between(1, whole.length - 1))
}

function withHeaders(draft: Draft, lines: readonly string[], body: string): Buffer {
  const kept = draft.headers.map(([name, value]) => `${name}: ${value}`).filter((line) => !line.startsWith('content-'))
  const hosted = lines.some((line) => line.startsWith('host')) ? kept.filter((line) => !line.startsWith('host')) : kept
  return Buffer.from(`${draft.method} ${draft.path} HTTP/1.1\r\n${[...hosted, ...lines].join('\r\n')}\r\n\r\n${body}`)
}
