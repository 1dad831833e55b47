import { type Client, readForm } from '@holdfast/client'
import { describe, expect, test } from 'vitest'
import { askForm } from '../../../control-plane/src/cli/ask/ask-form.js'
import type { Prompts } from '../../../control-plane/src/cli/ask/prompts.js'

/** One question, and what the person answers to it. */
type Answer = readonly [question: string, answer: unknown]
type Evaluation = Readonly<Record<string, unknown>>

interface Walked {
  readonly values: unknown
  readonly files: unknown
  /** What was said and warned of, in order, and for each question what it began with. */
  readonly heard: readonly string[]
  /** What the control plane was told of the values, last. */
  readonly sent: readonly string[]
}

/** Walks through a form with a person who answers these questions, and a control plane that says this of the values. */
async function walk(
  form: Readonly<Record<string, unknown>>,
  answers: readonly Answer[],
  judge: (values: Readonly<Record<string, unknown>>, asked: number) => Evaluation = () => ({}),
  given: Readonly<Record<string, unknown>> = {},
  paths: ReadonlyMap<string, string> = new Map(),
): Promise<Walked> {
  const heard: string[] = []
  const sent: string[] = []
  const left = [...answers]
  const answerTo = (question: string, shown: string) => {
    heard.push(`${question}${shown}`)
    const [wanted, answer] = left.shift() ?? ['no further question', null]
    expect(question).toBe(wanted)
    return Promise.resolve(answer)
  }
  const prompts = {
    say: (text: string) => heard.push(`say ${text}`),
    warn: (text: string) => heard.push(`warn ${text}`),
    confirm: (message: string, initial: boolean) => answerTo(message, initial ? ' Y' : ' N'),
    choose: (message: string, options: readonly string[]) => answerTo(message, ` [${options.join('|')}]`),
    value: (field: { name: string }, choices: readonly { label: string }[] | null, initial: unknown) =>
      answerTo(
        field.name,
        `${choices === null ? '' : ` of ${choices.map(({ label }) => label).join('|')}`}${initial === undefined ? '' : ` = ${JSON.stringify(initial)}`}`,
      ),
    file: (field: { name: string }) => answerTo(field.name, ' (a file)'),
  } as unknown as Prompts
  const client = {
    evaluateForm: ({ body }: { body: { rawFormData: Readonly<Record<string, unknown>>; files: unknown } }) => {
      sent.push(JSON.stringify([body.rawFormData, body.files]))
      return Promise.resolve({ fields: {}, steps: {}, rows: {}, ...judge(body.rawFormData, sent.length) })
    },
  } as unknown as Pick<Client, 'evaluateForm'>
  const model = readForm('f', { forms: [{ name: 'f', ...form }] } as unknown as Parameters<typeof readForm>[1])
  if (model === null) throw new Error('There is no form.')
  const { values, files } = await askForm(client, model, given, paths, prompts)
  expect(left).toEqual([])
  return { values, files: Object.fromEntries(files), heard, sent }
}

const field = (name: string, rest: object = {}) => ({ name, type: 'text', ...rest })
const refusedOnce = (name: string, bad: unknown) => (values: Readonly<Record<string, unknown>>) => ({
  fields: { [name]: { shown: true, errors: values[name] === bad ? [{ description: 'is wrong' }] : [] } },
})

describe('a field', () => {
  test('that is shown is asked for, one after the other', async () => {
    const { values, heard } = await walk({ fields: [field('a'), field('b', { default: 'x' })] }, [
      ['a', 'one'],
      ['b', 'two'],
    ])
    expect(values).toEqual({ a: 'one', b: 'two' })
    expect(heard).toEqual(['a', 'b = "x"'])
  })

  test('that is hidden or not shown is left out: the control plane has the last word, then the form', async () => {
    const depends = { dependencies: [{ name: 'a', values: ['yes'] }] }
    const form = {
      fields: [field('a'), field('h', { hide: true }), field('b', depends), field('c'), field('d', depends)],
    }
    const { values, heard } = await walk(
      form,
      [
        ['a', 'no'],
        ['d', 'asked'],
      ],
      () => ({
        fields: { h: { shown: true, errors: [] }, c: { shown: false, errors: [] }, d: { shown: true, errors: [] } },
      }),
    )
    expect(heard).toEqual(['a', 'd'])
    expect(values).toEqual({ a: 'no', d: 'asked' })
  })

  test('of html is read to the person as text, without its tags', async () => {
    const form = { fields: [field('h', { type: 'html', value: ' <b>Mind</b>\n the   <i>gap</i>' })] }
    expect((await walk(form, [])).heard).toEqual(['say Mind the gap'])
  })

  test('whose answer is refused is asked for again, and its answer of before stands there', async () => {
    const { values, heard } = await walk(
      { fields: [field('a', { label: 'The a' })] },
      [
        ['a', 'bad'],
        ['a', 'good'],
      ],
      refusedOnce('a', 'bad'),
    )
    expect(heard).toEqual(['a', 'warn The a: is wrong', 'a = "bad"'])
    expect(values).toEqual({ a: 'good' })
  })

  test('with a value that was given is asked for only when that is refused', async () => {
    const form = { fields: [field('a'), field('b')] }
    const both = await walk(form, [['b', 'new']], refusedOnce('b', 'bad'), { a: 'kept', b: 'bad' })
    expect(both.heard).toEqual(['warn b: is wrong', 'b = "bad"'])
    expect(both.values).toEqual({ a: 'kept', b: 'new' })
  })

  test('begins with the answer of before, then what was computed, then its default', async () => {
    const form = { fields: [field('a', { default: 'd' }), field('b', { default: 'd' })] }
    const { heard } = await walk(
      form,
      [
        ['a', 1],
        ['b', 2],
      ],
      () => ({ fields: { a: { shown: true, value: 'computed', errors: [] } } }),
    )
    expect(heard).toEqual(['a = "computed"', 'b = "d"'])
  })

  test('takes its choices from the control plane, or from the form', async () => {
    const form = { fields: [field('a', { type: 'enum', values: ['x', 'y'] }), field('b', { type: 'enum' })] }
    const { heard } = await walk(
      form,
      [
        ['a', 'x'],
        ['b', 'v'],
      ],
      () => ({ fields: { b: { shown: true, choices: ['v', 'w'], errors: [] } } }),
    )
    expect(heard).toEqual(['a of x|y', 'b of v|w'])
  })

  test('that is emptied is sent as null when it had something, and else not at all', async () => {
    const form = { fields: [field('a', { default: 'd' }), field('b'), field('c', { default: null })] }
    const nothing: readonly Answer[] = ['a', 'b', 'c'].map((name) => [name, undefined])
    expect((await walk(form, nothing)).values).toEqual({ a: null, b: undefined, c: undefined })
  })

  test('of a password that is left empty keeps what was typed before', async () => {
    const judge = (_: unknown, asked: number) => ({
      fields: { p: { shown: true, errors: asked < 4 ? [{ description: 'wait' }] : [] } },
    })
    const form = { fields: [field('p', { type: 'password' })] }
    const { values } = await walk(
      form,
      [
        ['p', 'secret'],
        ['p', undefined],
      ],
      judge,
    )
    expect(values).toEqual({ p: 'secret' })
    expect((await walk(form, [['p', undefined]])).values).toEqual({ p: undefined })
    const emptied = await walk(
      { fields: [field('t')] },
      [
        ['t', 'x'],
        ['t', undefined],
      ],
      refusedOnce('t', 'x'),
    )
    expect(emptied.values).toEqual({ t: null })
  })
})

describe('a computed field', () => {
  const form = { fields: [field('sum', { type: 'expression', label: 'Sum' })] }
  const verdict = (own: object) => () => ({ fields: { sum: { shown: true, errors: [], ...own } } })

  test.each([
    [{ value: 7 }, ['say Sum: 7']],
    [{ value: 'seven' }, ['say Sum: seven']],
    [{ value: false }, ['say Sum: false']],
    [{ value: null }, []],
    [{}, []],
    [{ waiting: 'needs a', value: 7 }, ['warn Sum: needs a']],
  ])('with %j is shown and not asked for', async (own, said) => {
    const { heard, values } = await walk(form, [], verdict(own))
    expect(heard).toEqual(said)
    expect(values).toEqual({})
  })

  const editable = { fields: [field('sum', { type: 'expression', label: 'Sum', editable: true })] }

  test('that may be typed over stays computed until somebody changes it', async () => {
    expect((await walk(editable, [['sum', '7']], verdict({ value: 7 }))).values).toEqual({ sum: undefined })
    expect((await walk(editable, [['sum', '8']], verdict({ value: 7 }))).values).toEqual({ sum: '8' })
    expect((await walk(editable, [['sum', '8']], verdict({}))).values).toEqual({ sum: '8' })
    const text = await walk({ fields: [field('sum')] }, [['sum', '7']], verdict({ value: '7' }))
    expect(text.values).toEqual({ sum: '7' })
  })

  test('is only shown when it is an object: nobody can type one over', async () => {
    expect((await walk(editable, [], verdict({ value: { a: 1 } }))).heard).toEqual(['say Sum: {"a":1}'])
    const list = await walk({ fields: [field('sum')] }, [['sum', 'x']], verdict({ value: { a: 1 } }))
    expect(list.values).toEqual({ sum: 'x' })
  })

  test('warns what it waits for before it is asked for, and a slow source is told of', async () => {
    const waiting = await walk(editable, [['sum', 'x']], verdict({ waiting: 'needs a' }))
    expect(waiting.heard).toEqual(['warn Sum: needs a', 'sum'])
    const slow = await walk(form, [], (_, asked) => verdict({ value: 3, ...(asked === 1 ? { asking: true } : {}) })())
    expect(slow.heard).toEqual(['say Sum: its source is slow to answer.', 'say Sum: 3'])
  })
})

describe('a file', () => {
  const form = { fields: [field('doc', { type: 'file' })] }

  test('is kept by its path, and the control plane hears of it', async () => {
    const { files, values, sent } = await walk({ fields: [...form.fields, field('a')] }, [
      ['doc', '/d'],
      ['a', 'x'],
    ])
    expect([files, values]).toEqual([{ doc: '/d' }, { a: 'x' }])
    expect(sent.at(-1)).toBe(JSON.stringify([{ a: 'x' }, { doc: { path: '/d' } }]))
  })

  test('that nobody chose is none', async () => {
    expect((await walk(form, [['doc', undefined]])).files).toEqual({})
  })

  test('that was given is not asked for, also in a step and without its name', async () => {
    expect((await walk(form, [], undefined, {}, new Map([['doc', '/g']]))).files).toEqual({ doc: '/g' })
    const wizard = {
      fields: [],
      wizard: [{ name: 'one', subform: 'S' }],
      subforms: [{ name: 'S', ...form }],
    }
    for (const key of ['one.doc', 'doc']) {
      const walked = await walk(wizard, [], undefined, {}, new Map([[key, '/g']]))
      expect([walked.files, walked.heard]).toEqual([{ [key]: '/g' }, ['say Step: one']])
    }
    const asked = await walk(wizard, [['doc', '/n']], undefined, {}, new Map([['two.doc', '/g']]))
    expect(asked.files).toEqual({ 'two.doc': '/g', 'one.doc': '/n' })
    const text = await walk({ fields: [field('doc')] }, [['doc', 'typed']], undefined, {}, new Map([['doc', '/g']]))
    expect(text.values).toEqual({ doc: 'typed' })
  })
})

describe('a step of a wizard', () => {
  const subforms = [
    { name: 'S', fields: [field('a')] },
    { name: 'T', fields: [field('b')] },
  ]
  const wizard = {
    fields: [],
    wizard: [
      { name: 'one', subform: 'S' },
      { subform: 'T', optional: true },
    ],
    subforms,
  }
  const OPTIONAL = 'Fill in the step "T"?'

  test('has its answers under its name, and an optional one is left out when nobody wants it', async () => {
    const filled = await walk(wizard, [
      ['a', 1],
      [OPTIONAL, true],
      ['b', 2],
    ])
    expect(filled.values).toEqual({ one: { a: 1 }, T: { b: 2 } })
    expect(filled.heard).toEqual(['say Step: one', 'a', `${OPTIONAL} N`, 'say Step: T', 'b'])
    expect(
      (
        await walk(wizard, [
          ['a', 1],
          [OPTIONAL, false],
        ])
      ).values,
    ).toEqual({ one: { a: 1 } })
  })

  test('that is not shown is passed over', async () => {
    const judge = () => ({ steps: { one: { shown: false, fields: {} }, T: { shown: false, fields: {} } } })
    expect(await walk(wizard, [], judge)).toMatchObject({ heard: [], values: {} })
  })

  test('with values that were given is not offered but filled in with them', async () => {
    const walked = await walk(wizard, [], undefined, { one: { a: 'x' }, T: { b: 'y' } })
    expect([walked.values, walked.heard]).toEqual([
      { one: { a: 'x' }, T: { b: 'y' } },
      ['say Step: one', 'say Step: T'],
    ])
  })

  test.each([['text'], [null], [[1]]])('takes no values from %j', async (one) => {
    expect(
      (
        await walk(
          wizard,
          [
            ['a', 1],
            [OPTIONAL, false],
          ],
          undefined,
          { one },
        )
      ).values,
    ).toEqual({ one: { a: 1 } })
  })
})

describe('the rows of a list', () => {
  const row = [
    field('n'),
    field('pw', { type: 'password' }),
    field('doc', { type: 'file' }),
    field('more', { dependencies: [{ name: 'n', values: ['big'] }] }),
  ]
  const form = (rest: object = {}) => ({
    fields: [field('l', { type: 'list', label: 'Disks', subform: 'R', ...rest })],
    subforms: [{ name: 'R', fields: row }],
  })
  const rows = (count: number) => `Disks: ${count} rows`
  const asked = (n: string, doc?: string): readonly Answer[] => [
    ['n', n],
    ['pw', 'secret'],
    ['doc', doc],
  ]

  test('are added one after the other; passwords stay hidden, and files have the place of their row', async () => {
    const walked = await walk(form(), [[rows(0), 1], ...asked('x', '/x'), [rows(1), 1], ...asked('y'), [rows(2), 0]])
    expect(walked.values).toEqual({
      l: [
        { n: 'x', pw: 'secret' },
        { n: 'y', pw: 'secret', doc: undefined },
      ],
    })
    expect(walked.files).toEqual({ 'l[0].doc': '/x' })
    const known = ['Row 1: n=x pw=******** doc=/x', 'Row 2: n=y pw=********']
    expect(walked.heard.filter((text) => text.startsWith('Disks'))).toEqual([
      'Disks: 0 rows [That is all|Add a row]',
      `Disks: 1 rows [That is all|Add a row|Change ${known[0]}|Remove ${known[0]}]`,
      `Disks: 2 rows [That is all|Add a row|Change ${known[0]}|Change ${known[1]}|Remove ${known[0]}|Remove ${known[1]}]`,
    ])
  })

  test.each([
    [2, 'the first', 'change', { l: [{ n: 'new' }, { n: 'b' }] }],
    [3, 'the second', 'change', { l: [{ n: 'a' }, { n: 'new' }] }],
    [4, 'the first', 'remove', { l: [{ n: 'b' }] }],
    [5, 'the second', 'remove', { l: [{ n: 'a' }] }],
  ])('choice %i is %s to %s', async (choice, _which, what, values) => {
    const given = [{ n: 'a' }, { n: 'b' }]
    const bad = (now: Readonly<Record<string, unknown>>) => ({
      fields: {
        l: { shown: true, errors: JSON.stringify(now['l']) === '[{"n":"a"},{"n":"b"}]' ? [{ description: 'no' }] : [] },
      },
    })
    const change: readonly Answer[] = [
      ['n', 'new'],
      ['pw', undefined],
      ['doc', undefined],
    ]
    const after = what === 'change' ? change : []
    const walked = await walk(form(), [[rows(2), choice], ...after, [rows(what === 'change' ? 2 : 1), 0]], bad, {
      l: given,
    })
    expect(JSON.parse(JSON.stringify(walked.values))).toEqual(values)
    expect(given).toEqual([{ n: 'a' }, { n: 'b' }])
  })

  test('lose a value that is no longer shown, and what is given as no list is none', async () => {
    const { values } = await walk(form({ default: 'no list', required: true }), [
      ['Disks *: 0 rows', 1],
      ['n', 'big'],
      ['pw', undefined],
      ['doc', undefined],
      ['more', 'm'],
      ['Disks *: 1 rows', 2],
      ['n', 'small'],
      ['pw', undefined],
      ['doc', undefined],
      ['Disks *: 1 rows', 0],
    ])
    expect(values).toEqual({ l: [{ n: 'small' }] })
    const top = await walk(
      { fields: [field('a'), field('b', { dependencies: [{ name: 'a', values: ['1'] }] })] },
      [['a', '2']],
      undefined,
    )
    expect(Object.keys(top.values as object)).toEqual(['a'])
  })

  test('of a list without a form of its own have no fields', async () => {
    const walked = await walk({ fields: [field('l', { type: 'list', label: 'Disks' })] }, [
      [rows(0), 1],
      [rows(1), 0],
    ])
    expect(walked.values).toEqual({ l: [{}] })
  })
})
