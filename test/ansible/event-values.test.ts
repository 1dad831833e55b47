import { describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** What events say of the values that ansible has, function by function. No ansible is needed for that. */
const ask = askPython(`
from types import SimpleNamespace as Any
from holdfast_job import event_content as content

class Host:
    def __init__(self, name): self.name = name
    def get_name(self): return self.name

class Role(Host): pass

class Shown:
    def __init__(self, name, path): self.name, self.path = name, path
    def get_name(self): return self.name
    def get_path(self): return self.path

def task_of(given):
    given = dict(given)
    role = given.pop("role", None)
    return Any(**given, **({} if role is None else {"_role": Role(role)}))

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
    if do == "host": return content.host_of(result_of(case))
    if do == "action": return content.resolved_action_of(task_of(case["task"]))
    if do == "role": return content.role_of(task_of(case["task"]))
    if do == "name": return content.name_of(Shown(case["name"], None))
    if do == "path": return content.path_of(Shown("", case["path"]), case["folder"])
    if do == "no path": return content.path_of(Any(), "/")
    if do == "recap":
        return content.recap_of(Any(processed=case["hosts"], summarize=lambda host: case["hosts"][host]))
    if do == "rescued":
        outer = None
        for block in case["blocks"]:
            outer = Any(_uuid=block["uuid"], _parent=outer, **({"rescue": block["rescue"]} if "rescue" in block else {}),
                block=[Any(_uuid=uuid) for uuid in block["block"]])
        return content.will_be_rescued(Any(_uuid="task", _parent=outer))

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

  test('names facts without their values, and at most a thousand of them', async () => {
    const facts = { b: 'secret', a: 1 }
    expect(await shown({ ansible_facts: facts })).toEqual({ ansible_facts: { _count: 2, _keys: ['a', 'b'] } })
    const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`fact${index}`, index]))
    const { ansible_facts: named } = (await shown({ ansible_facts: many })) as {
      ansible_facts: { _count: number; _keys: string[] }
    }
    expect([named._count, named._keys.length]).toEqual([1001, 1000])
    expect(await shown({ ansible_facts: 'none' })).toEqual({ ansible_facts: 'none' })
  })

  test('names a new host and its groups without its variables', async () => {
    const host = { host_name: 'web9', groups: ['web'], host_vars: { ansible_password: 'x' } }
    expect(await shown({ add_host: host })).toEqual({ add_host: { host_name: 'web9', groups: ['web'] } })
    expect(await shown({ add_host: { host_name: 'web9' } })).toEqual({ add_host: { host_name: 'web9' } })
  })

  test('says to which host it was delegated', async () => {
    const delegated = { _ansible_delegated_vars: {}, changed: true }
    expect(await shown(delegated, { task: { delegate_to: 'db1' } })).toEqual({ changed: true, _delegated_to: 'db1' })
    expect(await shown(delegated, { task: { delegate_to: null } })).toEqual({ changed: true })
    expect(await shown({ changed: true }, { task: { delegate_to: 'db1' } })).toEqual({ changed: true })
  })

  test('has the place of a difference that had an event of its own', async () => {
    expect(await shown({ diff: [] }, { diff_order: 0 })).toEqual({ _diff_order: 0 })
    expect(await shown({ diff: [] }, { diff_order: null })).toEqual({ diff: [] })
    expect(await shown({ rc: 0 }, { diff_order: 7 })).toEqual({ rc: 0 })
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

test('the recap has the words of ansible for each host, in the order of their names', async () => {
  const counts = { ok: 1, changed: 2, unreachable: 3, failures: 4, skipped: 5, rescued: 6, ignored: 7 }
  const { failures, ...same } = counts
  const recap = (await answer({ do: 'recap', hosts: { b: counts, a: {} } })) as Record<string, unknown>
  expect(recap.b).toEqual({ ...same, failed: failures })
  expect(recap.a).toEqual({ ok: 0, changed: 0, unreachable: 0, failed: 0, skipped: 0, rescued: 0, ignored: 0 })
  expect(Object.keys(recap)).toEqual(['a', 'b'])
})

test('a failure is rescued by a block around it that has a rescue, and whose own part the task is in', async () => {
  const rescuing = { rescue: ['a task'], block: ['task'], uuid: 'inner' }
  const around = { rescue: ['a task'], block: ['inner'], uuid: 'outer' }
  const without = { block: ['task'], uuid: 'inner' }
  const empty = { rescue: [], block: ['task'], uuid: 'inner' }
  const inRescue = { rescue: ['a task'], block: ['another'], uuid: 'inner' }
  const cases: [object[], boolean][] = [
    [[], false],
    [[rescuing], true],
    [[without], false],
    [[empty], false],
    [[inRescue], false],
    [[around, without], true],
    [[around, inRescue], true],
  ]
  expect(await answers(cases.map(([blocks]) => ({ do: 'rescued', blocks })))).toEqual(
    cases.map(([, expected]) => expected),
  )
})

test('names are shown without white space around, and no longer than a thousand characters', async () => {
  const long = 'n'.repeat(1001)
  const cases: [Case, unknown][] = [
    [{ do: 'name', name: '  a play \n' }, 'a play'],
    [{ do: 'name', name: long }, long.slice(1)],
    [{ do: 'role', task: { action: 'x' } }, null],
    [{ do: 'role', task: { role: 'web' } }, 'web'],
    [{ do: 'role', task: { role: long } }, long.slice(1)],
    [{ do: 'action', task: { action: 'copy', resolved_action: 'ansible.builtin.copy' } }, 'ansible.builtin.copy'],
    [{ do: 'action', task: { action: 'copy', resolved_action: null } }, 'copy'],
    [{ do: 'action', task: { action: 'copy' } }, 'copy'],
    [{ do: 'path', path: '/job/work/site.yml:3', folder: '/job/work/' }, 'site.yml:3'],
    [{ do: 'path', path: '/etc/site.yml:3', folder: '/job/work/' }, '/etc/site.yml:3'],
    [{ do: 'path', path: null, folder: '/job/work/' }, null],
    [{ do: 'no path' }, null],
    [{ do: 'host', values: {} }, 'web1'],
    [{ do: 'host', values: {}, older: true }, 'web1'],
  ]
  expect(await answers(cases.map(([one]) => one))).toEqual(cases.map(([, expected]) => expected))
})
