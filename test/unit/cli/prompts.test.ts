import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FormField, readFields } from '@holdfast/client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Prompts, textOf } from '../../../control-plane/src/cli/ask/prompts.js'
import { CliError } from '../../../control-plane/src/cli/errors.js'
import { type TestScreen, newTestScreen } from './screen.js'

const [ENTER, DOWN, TAB, BACKSPACE, CTRL_C] = ['\r', '\x1b[B', '\t', '\x7f', '\x03']

/** What the person sees, and which keys follow then. */
type Step = readonly [seen: string, ...keys: readonly string[]]

/** Asks a person who goes through these steps, and gives what came of it, and what the screen showed. */
async function answer(ask: (prompts: Prompts) => Promise<unknown>, ...steps: readonly Step[]) {
  const screen = newTestScreen()
  const asked = ask(new Prompts(screen)).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  for (const [seen, ...keys] of steps) await screen.at(seen, ...keys)
  return { ...(await asked), shown: screen.text() }
}

/** A field with the label `A`. */
function field(more: Readonly<Record<string, unknown>> = {}): FormField {
  const [read] = readFields([{ name: 'a', label: 'A', ...more }])
  if (read === undefined) throw new Error('There is no field.')
  return read
}

/** Asks for the value of such a field, which begins with `initial`. */
const value = (more: Readonly<Record<string, unknown>>, initial: unknown, ...steps: readonly Step[]) =>
  answer((prompts) => prompts.value(field(more), field(more).choices, initial), ...steps)

/** The same, and only what was answered. */
async function valueOf(...given: Parameters<typeof value>): Promise<unknown> {
  const answered = await value(...given)
  if (!('value' in answered)) throw answered.error
  return answered.value
}

function shownBy(say: (prompts: Prompts) => void): string {
  const screen: TestScreen = newTestScreen()
  say(new Prompts(screen))
  return screen.text()
}

describe('what a person is told', () => {
  test('is on the screen, and cannot send commands to it', () => {
    const bad = '\x1b[31mred\x1b[0m\x07text'
    const said = [
      shownBy((prompts) => prompts.title(bad)),
      shownBy((prompts) => prompts.say(bad)),
      shownBy((prompts) => prompts.warn(bad)),
      shownBy((prompts) => prompts.note([bad, 'second'], 'Head')),
      shownBy((prompts) => prompts.note(['first'], bad)),
    ]
    for (const text of said) {
      expect(text).toMatch(/red.?text/)
      expect(text).not.toContain('\x07')
    }
    expect(said[3]).toMatch(/Head[^]*red.?text[^]*second/)
  })
})

describe('a question of yes or no', () => {
  test.each([
    [true, ENTER, true],
    [false, ENTER, false],
    [true, 'n', false],
    [false, 'y', true],
  ])('that begins with %j takes the key %j as %j', async (initial, key, wanted) => {
    expect(await answer((prompts) => prompts.confirm('Sure?', initial), ['Sure?', key])).toMatchObject({
      value: wanted,
    })
  })

  test('that is broken off launches nothing', async () => {
    const { error } = (await answer((prompts) => prompts.confirm('Sure?', true), ['Sure?', CTRL_C])) as {
      error: unknown
    }
    expect(error).toBeInstanceOf(CliError)
    expect(error).toMatchObject({ exitCode: 130, message: 'Nothing was launched.' })
  })
})

describe('a question for one of some options', () => {
  const options = (count: number) => Array.from({ length: count }, (_, at) => `option ${at}`)

  test('is answered with the place of the option, and begins with the first or the named one', async () => {
    for (const count of [3, 7]) {
      const choose = (initial: number | null, ...keys: string[]) =>
        answer((prompts) => prompts.choose('Which?', options(count), initial), ['Which?'], ['option 2', ...keys, ENTER])
      expect(await choose(null)).toMatchObject({ value: 0 })
      expect(await choose(null, DOWN)).toMatchObject({ value: 1 })
      expect(await choose(2)).toMatchObject({ value: 2 })
    }
    const plain = await answer((prompts) => prompts.choose('Which?', options(3)), ['Which?', ENTER])
    expect(plain).toMatchObject({ value: 0 })
  })

  test('has a text field that filters from 6 options on', async () => {
    const shown = async (count: number) =>
      (await answer((prompts) => prompts.choose('Which?', options(count)), ['option 1', ENTER])).shown
    expect(await shown(5)).not.toContain('type to filter')
    expect(await shown(6)).toContain('type to filter')
  })

  test('shows 8 options at once', async () => {
    const { shown } = await answer((prompts) => prompts.choose('Which?', options(20)), ['option 1', ENTER])
    expect(shown.match(/option \d+/g)?.length).toBeLessThanOrEqual(1 + 8)
    expect(shown).not.toContain('option 8')
  })
})

describe('the question for a field', () => {
  test.each([
    [{}, 'A\n'],
    [{ required: true }, 'A *\n'],
    [{ help: 'as you like' }, 'A (as you like)\n'],
    [{ help: 'as you must', required: true }, 'A * (as you must)\n'],
  ])('of %j is %j', async (more, question) => {
    const { shown } = await value(more, 'x', ['A', ENTER])
    expect(shown).toContain(`  ${question}`)
  })

  test('of a checkbox begins with no, except for true', async () => {
    for (const initial of [undefined, 'true', 1, false]) {
      expect(await valueOf({ type: 'checkbox' }, initial, ['A', ENTER])).toBe(false)
    }
    expect(await valueOf({ type: 'checkbox' }, true, ['A', ENTER])).toBe(true)
  })

  test('of a password hides what is typed, and an empty one is none', async () => {
    const { value: typed, shown } = (await value({ type: 'password' }, 'before', ['A', 'swordfish', ENTER])) as {
      value: unknown
      shown: string
    }
    expect(typed).toBe('swordfish')
    expect(shown).not.toMatch(/swordfish|before/)
    expect(await valueOf({ type: 'password' }, undefined, ['A', ENTER])).toBeUndefined()
  })

  test.each(['textarea', 'yaml'])('of a %s takes several lines, and two line breaks end it', async (type) => {
    expect(await valueOf({ type }, undefined, ['A', 'one', ENTER, 'two', ENTER, ENTER])).toBe('one\ntwo')
    expect(await valueOf({ type }, 'before', ['before', ENTER, ENTER])).toBe('before')
    expect(await valueOf({ type }, undefined, ['A', ENTER, ENTER])).toBeUndefined()
  })

  test.each([
    [undefined, undefined],
    [null, undefined],
    ['x', 'x'],
    [0, '0'],
    [{ a: 1 }, '{"a":1}'],
  ])('of a text begins with %j, which one key takes as %j', async (initial, wanted) => {
    expect(await valueOf({}, initial, ['A', ENTER])).toBe(wanted)
    expect(await valueOf({ type: 'expression', editable: true }, initial, ['A', ENTER])).toBe(wanted)
  })

  test('shows its example while nothing is typed', async () => {
    expect((await value({ placeholder: 'srv-1' }, undefined, ['srv-1', 'x', ENTER])).shown).toContain('srv-1')
    expect((await value({}, undefined, ['A', 'x', ENTER])).shown).not.toContain('null')
  })

  test('of an enum or radio without a list of choices takes any text', async () => {
    for (const type of ['enum', 'radio']) expect(await valueOf({ type }, undefined, ['A', 'own', ENTER])).toBe('own')
  })
})

describe('the question for a number', () => {
  test.each([
    ['12', 12],
    ['-1.5', -1.5],
    ['1e3', 1000],
  ])('takes %j as %d', async (typed, number) => {
    expect(await valueOf({ type: 'number' }, undefined, ['A', typed, ENTER])).toBe(number)
  })

  test('takes nothing as no number, and one of before as it was', async () => {
    expect(await valueOf({ type: 'number' }, undefined, ['A', ENTER])).toBeUndefined()
    expect(await valueOf({ type: 'number' }, 7, ['7', ENTER])).toBe(7)
  })

  test.each(['many', '  ', 'Infinity', '1,5'])('refuses %j, and begins with it again', async (typed) => {
    const again = [BACKSPACE.repeat(typed.length) + '3', ENTER]
    expect(
      await valueOf({ type: 'number' }, undefined, ['A', typed, ENTER], ['That is not a number.'], ['A', ...again]),
    ).toBe(3)
  })
})

describe('the question for a time', () => {
  test.each([
    ['datetime', 'YYYY-MM-DDTHH:MM'],
    ['time', 'HH:MM'],
    ['month', 'YYYY-MM'],
    ['week', 'YYYY-Www'],
    ['year', 'YYYY'],
  ])('of the kind %s shows its shape, and takes one line', async (dateType, shape) => {
    const { shown, ...answered } = await value({ type: 'datetime', dateType }, undefined, ['A', 'x', ENTER])
    expect(shown).toMatch(new RegExp(`${shape}\\s`))
    expect(answered).toEqual({ value: 'x' })
  })

  test('of a kind that nobody knows has no shape', async () => {
    const { shown, ...answered } = await value({ type: 'datetime', dateType: 'era' }, undefined, ['A', 'x', ENTER])
    expect(shown).not.toMatch(/YYYY|HH|null|undefined/)
    expect(answered).toEqual({ value: 'x' })
  })

  const day = (required: boolean) => ({ type: 'datetime', dateType: 'date', required })

  test.each([true, false])('of a day begins with that of before (required: %j)', async (required) => {
    expect(await valueOf(day(required), '2027-03-04', ['A', ENTER])).toBe('2027-03-04')
    expect(await valueOf(day(required), undefined, ['A', '2028', '05', '06', ENTER])).toBe('2028-05-06')
  })

  test.each(['no day', 2027, null])('of a day begins with none when that of before is %j', async (initial) => {
    const steps: readonly Step[] = [
      ['A', ENTER],
      ['A: leave it empty?', ENTER],
    ]
    expect(await valueOf(day(false), initial, ...steps)).toBeUndefined()
  })

  test('of a day is asked again when it shall not be empty', async () => {
    const typed = ['2028', '05', '06', ENTER]
    expect(await valueOf(day(true), undefined, ['A *', ENTER], ['enter a valid date', ...typed])).toBe('2028-05-06')
    const doubted = await valueOf(day(false), undefined, ['A', ENTER], ['A: leave it empty?', 'n'], ['A', ...typed])
    expect(doubted).toBe('2028-05-06')
  })
})

describe('the question for a choice', () => {
  const one = (more: object = {}) => ({ type: 'enum', values: ['x', 'y'], ...more })

  test('begins with the choice of before', async () => {
    expect(await valueOf(one(), undefined, ['A', ENTER])).toBe('x')
    expect(await valueOf(one(), 'gone', ['A', ENTER])).toBe('x')
    expect(await valueOf(one(), 'y', ['A', ENTER])).toBe('y')
    const objects = { type: 'enum', values: [{ id: 1 }, { id: 2 }], outputObject: true }
    expect(await valueOf(objects, { id: 2 }, ['A', ENTER])).toEqual(field(objects).choices?.[1]?.value)
  })

  test('of an optional field may be answered with nothing', async () => {
    expect(await valueOf(one(), 'y', ['(nothing)', DOWN, ENTER])).toBeUndefined()
    const { shown } = await value(one({ required: true }), 'y', ['A', ENTER])
    expect(shown).not.toContain('(nothing)')
  })

  test('has nothing to ask for without choices, and a required field may be looked at again', async () => {
    const none = 'A: there is nothing to choose from.'
    const optional = await value({ type: 'enum', values: [] }, undefined, [none])
    expect(optional).toMatchObject({ value: undefined })
    expect(optional.shown).not.toContain('Look again?')
    const required = { type: 'enum', values: [], required: true }
    expect(await valueOf(required, undefined, [none], ['Look again?', ENTER])).toBeUndefined()
    expect(await value(required, undefined, [none], ['Look again?', 'n'])).toMatchObject({ error: { exitCode: 130 } })
  })

  const several = { type: 'enum', multiple: true, values: ['x', 'y', 'z'] }

  test.each<[unknown, readonly string[]]>([
    [undefined, []],
    ['x', []],
    [
      ['z', 'x'],
      ['x', 'z'],
    ],
    [['gone'], []],
    [['__all__'], ['x', 'y', 'z']],
  ])('of several begins with those of before: %j are %j', async (initial, chosen) => {
    const answered = (await valueOf(several, initial, ['A', ENTER])) as string[]
    expect(answered.toSorted()).toEqual(chosen)
  })

  test('of several takes what Tab chooses', async () => {
    expect(await valueOf(several, ['y'], ['A', DOWN, TAB, ENTER])).toEqual(['y', 'z'])
  })
})

describe('the question for a file', () => {
  /** A folder with a file `there` and a link that leads nowhere. The command is started in it. */
  function startFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-prompts-'))
    writeFileSync(join(folder, 'there'), 'x')
    symlinkSync(join(folder, 'nowhere'), join(folder, 'gone'))
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(folder)
    onTestFinished(() => {
      cwd.mockRestore()
      rmSync(folder, { recursive: true, force: true })
    })
    return folder
  }
  const file = (required: boolean) => (prompts: Prompts) => prompts.file(field({ type: 'file', required }))

  test('of an optional field is first whether there is one, and no is its default', async () => {
    const path = join(startFolder(), 'there')
    const nothing = await answer(file(false), ['A: send a file?', ENTER])
    expect(nothing).toMatchObject({ value: undefined })
    const chosen = await answer(file(false), ['A: send a file?', 'y'], ['A', '/t'], [`● ${path}`, ENTER])
    expect(chosen).toMatchObject({ value: path })
  })

  test('of a required field is only for the path, until there is such a file', async () => {
    const folder = startFolder()
    const steps = (name: string): readonly Step[] => [
      ['A *', `/${name}`],
      [`● ${join(folder, name)}`, ENTER],
    ]
    const refused = [`${join(folder, 'gone')}: there is no such file.`] as const
    const { shown, ...answered } = await answer(file(true), ...steps('gone'), refused, ...steps('there'))
    expect(answered).toEqual({ value: join(folder, 'there') })
    expect(shown).not.toContain('send a file?')
  })
})

test.each([
  ['text', 'text'],
  [1, '1'],
  [null, 'null'],
  [[1, 'a'], '[1,"a"]'],
])('%j is shown as %j', (given, text) => {
  expect(textOf(given)).toBe(text)
})
