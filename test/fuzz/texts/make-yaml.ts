import type { Chance } from '../../chaos/kit/seed.js'

const WORDS = [
  'a',
  'b',
  'name',
  'x y',
  '1',
  '-2.5',
  '0x1F',
  '1e3',
  'true',
  'no',
  'null',
  '~',
  '.inf',
  '2026-01-02',
  '<<',
  '=',
  '*',
  '&',
  '!',
  '|',
  '>',
  '@',
  '`',
  '%',
  '#',
  'a#b',
  'a: b',
  '- c',
  '{{ x }}',
  '9007199254740993',
  '',
]
const TAGS = ['!a', '!!str', '!!int', '!!map', '!!seq', '!!set', '!!omap', '!!binary', '!!null', '!', '!<x>', '!e!x']
const SPACES = ['', ' ', '  ', '\t', '\n', '\r\n', ' # c\n', '\n\n']

/** A text of YAML by its grammar, with every kind of node. Most of such texts are right. */
export function makeYaml(chance: Chance): string {
  const anchors: string[] = []
  let left = chance.between(1, 60)

  function block(indent: number): string {
    left -= 1
    const pad = ' '.repeat(indent)
    const kind =
      left <= 0 ? 'scalar' : chance.pick(['map', 'map', 'seq', 'seq', 'flow', 'scalar', 'text', 'explicit'] as const)
    const count = chance.between(1, 4)
    const entries = Array.from({ length: count }, (_, at) => at)
    switch (kind) {
      case 'map':
        return entries.map((at) => `\n${comment(pad)}${pad}${key(at)}: ${props()}${block(indent + step())}`).join('')
      case 'seq':
        return entries.map(() => `\n${comment(pad)}${pad}- ${props()}${block(indent + step())}`).join('')
      case 'explicit':
        return `\n${pad}? ${block(indent + step())}\n${pad}: ${block(indent + step())}`
      case 'text':
        return `${chance.pick(['|', '>', '|-', '>+', '|2'])}\n${entries.map(() => `${pad}  ${word()}\n`).join('')}`
      case 'flow':
        return flow()
      case 'scalar':
        return scalar()
    }
  }

  function flow(): string {
    left -= 1
    const count = left <= 0 ? 0 : chance.between(0, 4)
    const parts = Array.from(
      { length: count },
      (_, at) => `${props()}${chance.next() < 0.3 && left > 0 ? flow() : scalar()}${at < count - 1 ? ',' : ''}`,
    )
    const isMap = chance.next() < 0.5
    const inner = parts.map(
      (part, at) => `${space()}${isMap || chance.next() < 0.1 ? `${key(at)}: ` : ''}${part}${space()}`,
    )
    return isMap ? `{${inner.join('')}}` : `[${inner.join('')}]`
  }

  const step = (): number => chance.pick([1, 2, 2, 2, 4, 0])
  const space = (): string => (chance.next() < 0.8 ? ' ' : chance.pick(SPACES))
  const comment = (pad: string): string => (chance.next() < 0.1 ? `${chance.pick([pad, '', '\t'])}# ${word()}\n` : '')
  const word = (): string => chance.pick(WORDS)
  const key = (at: number): string =>
    chance.next() < 0.1 ? chance.pick(['<<', '"q"', "'s'", '? a', '[c]', '*a0', 'k0']) : `k${at}`
  const props = (): string => {
    if (chance.next() < 0.06) return `${chance.pick(TAGS)} `
    if (chance.next() > 0.1) return ''
    const name = `a${chance.between(0, 3)}`
    anchors.push(name)
    return `&${name} `
  }
  const scalar = (): string => {
    if (anchors.length > 0 && chance.next() < 0.15) return `*${chance.pick(anchors)} `
    return chance.pick([word(), word(), `"${word()}\\n"`, `'${word().replaceAll("'", "''")}'`, `"${word()}\n  x"`])
  }
  const head =
    chance.next() < 0.1
      ? chance.pick([
          '---\n',
          '%YAML 1.1\n---\n',
          '%YAML 1.2\n---\n',
          '%TAG !e! tag:x,2000:\n---\n',
          '\uFEFF',
          '# c\n\n',
          '%FOO\n---',
        ])
      : ''
  const tail = chance.next() < 0.05 ? chance.pick(['\n...\n', '\n---\n', '\n---\nb: 1\n', '\n# end']) : ''
  return head + block(0).replace(/^\n/, '') + tail
}
