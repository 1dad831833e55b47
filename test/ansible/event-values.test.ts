import { describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** What events say of the values that ansible has, function by function. No ansible is needed for that. */
const ask = askPython(`
from types import SimpleNamespace as Any
from holdfast_job import event_content as content

class Host:
    def __init__(self, name): self.name = name
    def get_name(self): return self.name

def task_of(given):
    return Any(**given)

def result_of(case):
    task = task_of(case.get("task", {}))
    if case.get("older"):
        return Any(_result=case["values"], _task=task, _host=Host("web1"))
    return Any(result=case["values"], task=task, host=Host("web1"))

def answer_one(case):
    do = case["do"]
    run = Any(items=case.get("items"), diff_order=case.get("diff_order"))
    if do == "result": return content.shown_result(result_of(case), run)
    if do == "item": return content.shown_item(result_of(case))
    if do == "censored": return content.is_censored(result_of(case))

def answer(cases):
    return [answer_one(case) for case in cases]
`)

interface Case {
  readonly do: string
  readonly values?: Record<string, unknown>
  readonly task?: Record<string, unknown>
  readonly older?: boolean
  readonly items?: Record<string, number> | null
  readonly diff_order?: number | null
  readonly [more: string]: unknown
}

const answers = async (cases: readonly Case[]): Promise<unknown[]> => (await ask(cases)) as unknown[]
const answer = async (one: Case): Promise<unknown> => (await answers([one]))[0]
const shown = (values: Record<string, unknown>, more: Partial<Case> = {}): Promise<unknown> =>
  answer({ do: 'result', values, ...more })

describe('a result', () => {
  test('shows what a module said, and nothing that ansible itself put there', async () => {
    const hidden = {
      invocation: { module_args: {} },
      include_args: {},
      ansible_loop: {},
      ansible_loop_var: 'user',
      ansible_index_var: 'i',
      failed: false,
      skipped: false,
      user: 'the item',
      _ansible_parsed: true,
    }
    const said = { stdout: 'text', changed: true, rc: 0, ansible_stats: { data: {} }, item: 'another variable' }
    expect(await shown({ ...hidden, ...said })).toEqual(said)
    expect(await shown({ ...hidden, ...said }, { older: true })).toEqual(said)
    // Outside of a loop such a name is that of a value.
    expect(await shown({ user: 'me', changed: false })).toEqual({ user: 'me', changed: false })
  })

  test.each(['module_stdout', 'module_stderr', 'msg', 'exception'])(
    'shows no arguments that stand in its %s',
    async (key) => {
      const leftOut = '[the arguments of the module, and what follows them, are left out]'
      for (const name of ['invocation', 'module_args']) {
        expect(await shown({ [key]: `before {"${name}": {"password": "x"}}` })).toEqual({ [key]: `before {${leftOut}` })
        expect(await shown({ [key]: `{\\"${name}\\" : 1` })).toEqual({ [key]: `{${leftOut}` })
      }
      expect(await shown({ [key]: 'the invocation of words' })).toEqual({ [key]: 'the invocation of words' })
      expect(await shown({ [key]: ['"invocation":'], stdout: '"invocation": 1' })).toEqual({
        [key]: ['"invocation":'],
        stdout: '"invocation": 1',
      })
    },
  )

  test('names facts without their values', async () => {
    const facts = { b: 'secret', a: 1 }
    expect(await shown({ ansible_facts: facts })).toEqual({ ansible_facts: { _count: 2, _keys: ['a', 'b'] } })
    expect(await shown({ ansible_facts: 'none' })).toEqual({ ansible_facts: 'none' })
  })

  test('says to which host it was delegated', async () => {
    const delegated = { _ansible_delegated_vars: {}, changed: true }
    expect(await shown(delegated, { task: { delegate_to: 'db1' } })).toEqual({ changed: true, _delegated_to: 'db1' })
    expect(await shown(delegated, { task: { delegate_to: null } })).toEqual({ changed: true })
    expect(await shown({ changed: true }, { task: { delegate_to: 'db1' } })).toEqual({ changed: true })
  })
})

describe('the result of a loop', () => {
  const items = { ok: 2 }

  test('has counts in place of items that had events of their own', async () => {
    expect(await shown({ results: [{ a: 1 }], msg: 'done' }, { items })).toEqual({ msg: 'done', _items: items })
    expect(await shown({ results: [], msg: 'done' }, { items: {} })).toEqual({ msg: 'done', _items: {} })
    expect(await shown({ msg: 'an item' }, { items })).toEqual({ msg: 'an item' })
  })

  test('has no results of items also when nobody counted them, and keeps results of another kind', async () => {
    expect(await shown({ results: [{ ansible_loop_var: 'item' }] })).toEqual({})
    for (const results of [[], ['a text'], [{ name: 'x' }], 'a text', { ansible_loop_var: 'item' }]) {
      expect(await shown({ results })).toEqual({ results })
    }
  })
})

describe('a hidden result', () => {
  const values = { stdout: 'CANARY', changed: true }
  const hidden = { changed: true, censored: 'hidden because of no_log' }

  test.each<[string, Partial<Case>, boolean]>([
    ['by the word in it', { values: { ...values, censored: 'x' } }, true],
    ['by the mark of ansible', { values: { ...values, _ansible_no_log: true } }, true],
    ['by its task', { values, task: { no_log: true } }, true],
    ['not by a mark that is off', { values: { ...values, _ansible_no_log: false } }, false],
    ['not by a task that does not say so', { values, task: { no_log: false } }, false],
    ['not by a template that nobody has answered', { values, task: { no_log: '{{ x }}' } }, false],
  ])('is one %s', async (_, given, isHidden) => {
    const all = [false, true].flatMap((older) => [
      { ...given, do: 'censored', older },
      { ...given, do: 'result', older },
    ])
    const result = isHidden ? hidden : { stdout: 'CANARY', changed: true }
    expect(await answers(all)).toEqual([isHidden, result, isHidden, result])
  })

  test('counts the items of its loop, and an item of it does not', async () => {
    const censored = { censored: 'x', attempts: 2, retries: 3 }
    const kept = { attempts: 2, retries: 3, censored: hidden.censored }
    expect(await shown(censored, { items: { ok: 1 } })).toEqual({ ...kept, _items: { ok: 1 } })
    expect(await shown({ ...censored, ansible_loop_var: 'item' }, { items: { ok: 1 } })).toEqual(kept)
    expect(await shown(censored, { items: null })).toEqual(kept)
  })

  test('has no item', async () => {
    expect(await answer({ do: 'item', values: { item: 'x', censored: 'y' } })).toBeNull()
  })
})

test('an item is shown by its label, or by its variable, and long ones by their beginning', async () => {
  const longest = 'x'.repeat(1000)
  const cases: [Record<string, unknown>, unknown][] = [
    [{ item: 'one' }, 'one'],
    [{ ansible_loop_var: 'user', user: 'me', item: 'no' }, 'me'],
    [{ _ansible_item_label: 'label', item: 'no' }, 'label'],
    [{ item: 7 }, 7],
    [{ item: { a: [1] } }, { a: [1] }],
    [{ item: longest }, longest],
    [{ item: `${longest}y` }, longest],
    [{ item: [longest] }, `['${longest}`.slice(0, 1000)],
    [{}, null],
  ]
  expect(await answers(cases.map(([values]) => ({ do: 'item', values })))).toEqual(
    cases.map(([, expected]) => expected),
  )
})
