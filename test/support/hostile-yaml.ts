const times = (text: string, count: number): string => text.repeat(count)
const many = (count: number, make: (at: number) => string, between = '\n'): string =>
  Array.from({ length: count }, (_, at) => make(at)).join(between)

/** Texts that a reader of YAML has trouble with. Each is refused; `small` is more than its bytes say. */
export const REFUSED_YAML: Readonly<Record<string, string>> = {
  'twenty thousand open lists': times('[', 20_000),
  'closed lists': times('[', 20_000) + times(']', 20_000),
  'objects in objects': times('{a: ', 5000),
  'lists and objects by turns': times('[{', 20_000),
  'names that are lists': `${times('{[', 5000)}x`,
  'explicit names': times('? ', 20_000),
  'explicit names in brackets': times('[? ', 20_000),
  'list items on one line': times('- ', 20_000),
  'items and explicit names by turns': times('- ? ', 10_000),
  'items, then brackets': times('- ', 60) + times('[', 60),
  'empty names': many(5000, (at) => `${' '.repeat(at % 200)}: `),
  'five thousand steps of indentation': many(1400, (at) => `${' '.repeat(at)}a:`),
  'indentation of one line each': many(1400, (at) => `${' '.repeat(at)}-`),
  'tags at every level': times('!!seq [', 5000),
  'many tags of one value': times('!a ', 5000) + 'x',
  'anchors at every level': many(5000, (at) => `&a${at} [`, ''),
  'a list in itself': '&a [*a]',
  'a mapping in itself, deep down': 'a: &a {b: [{c: *a}]}',
  'two that name each other': 'a: &a {x: &b {y: *a}}\nb: *b',
  'merged with itself': 'a: &a {x: 1, <<: *a}',
  'merged with itself, in a list': 'a: &a {b: {<<: [{y: 1}, *a]}}',
  'aliases that double': many(60, (at) => `a${at}: &a${at} [${at === 0 ? 'x' : times(`*a${at - 1},`, 9)}]`),
  'merges that double': many(
    60,
    (at) => `a${at}: &a${at} {k${at}: 1${at === 0 ? '' : `, <<: [${times(`*a${at - 1},`, 9)}]`}}`,
  ),
  'aliases that nest': many(60, (at) => `a${at}: &a${at} [[[[[${at === 0 ? 'x' : `*a${at - 1}`}]]]]]`),
  'a hundred thousand aliases': `a: &a 1\nb: [${times('*a,', 100_000)}]`,
  'one long text, many times': `a: &a ${times('x', 100_000)}\nb: [${times('*a,', 1500)}]`,
  'a name of a megabyte': `${times('x', 1_000_000)}: 1`,
  'a quote that does not end': `a: "${times('x', 1_000_000)}`,
  'a single quote that does not end': `a: '${times('x\n ', 300_000)}`,
  'wrong escapes': `"${times('\\q', 500_000)}"`,
  'closing brackets': times(']', 1_000_000),
  'a thousand documents': times('---\na: 1\n', 1000),
  'ends of documents': times('...\n', 100_000),
  'thousands of directives': `${times('%YAML 1.2\n', 10_000)}---\na: 1`,
  'a prefix of a megabyte for every tag': `%TAG !e! ${times('x', 1_000_000)}\n---\n${times('- !e!x\n', 40_000)}`,
  'empty lines and comments': `a: {\n${times('\n', 400_000)}${times(' #\n', 50_000)}`,
  'very many names': many(100_000, (at) => `k${at}: v`),
  'very many values': `[${times('1,', 400_000)}]`,
  'more than two megabytes': times('x', 2_200_000),
}

/** Texts that look like those above, and that people write all the same. Each has the value beside it. */
export const GOOD_YAML: Readonly<Record<string, readonly [string, unknown]>> = {
  'brackets in a block of text': [`a: |\n${times('  [[[{{{ - - ? ?\n', 500)}`, { a: times('[[[{{{ - - ? ?\n', 500) }],
  'a template in a block of text': ['a: >-\n  {{ [[x]] }}\n  {% if y %}\n', { a: '{{ [[x]] }} {% if y %}' }],
  'brackets in quotes': [`"${times('[{', 5000)}"`, times('[{', 5000)],
  'brackets in single quotes': [`'${times('[', 5000)}'`, times('[', 5000)],
  'brackets in a comment': [`a: 1 # ${times('[', 5000)}\n# ${times('- ', 5000)}\n`, { a: 1 }],
  'marks in a plain text': [`a${times(' - ? [', 3000)}`, `a${times(' - ? [', 3000)}`],
  'a plain text of many lines': [`a: x\n${times('  - y [\n', 300)}`, { a: `x${times(' - y [', 300)}` }],
  'a hundred levels': [times('[', 100) + times(']', 100), JSON.parse(times('[', 100) + times(']', 100))],
  'a byte order mark': ['\uFEFFa: 1\n', { a: 1 }],
  'lines of Windows': ['a:\r\n  # one\r\n\r\n  - 1\r\n', { a: [1] }],
  'comments between values': ['a:\n# one\n  # two\n- 1\n\n    # three\n- 2\n#four', { a: [1, 2] }],
  'comments beside brackets': ['a: [ # one\n# two\n 1, # three\n 2 ]', { a: [1, 2] }],
  'a hundred uses of an anchor': [
    `a: &a x\nb: [${times('*a,', 200)}]`,
    { a: 'x', b: Array.from({ length: 200 }, () => 'x') },
  ],
  'a chain of merges': [
    'a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: [*b, *a], z: 3}',
    { a: { x: 1 }, b: { x: 1, y: 2 }, c: { x: 1, y: 2, z: 3 } },
  ],
}
