import { describe, expect, test } from 'vitest'
import { callbackScenes, type Step } from './callback-scene.js'
import { askPython } from './python-lines.js'

const play = callbackScenes()

const FILES = { HOLDFAST_EVENTS_FILE: 'events.jsonl', HOLDFAST_CALLBACK_FILE: 'callback.json' }
const begin: readonly Step[] = [
  ['playbook', '@FOLDER/site.yml'],
  ['play', 'a play', '@FOLDER/site.yml:1'],
]

describe('the event callback', () => {
  const ask = askPython(
    `
before = list(sys.path)
sys.path.append(sys.argv[1] + "callback")
from holdfast_events import CallbackModule as plugin
sys.path.pop()
def answer(question):
    return [plugin.CALLBACK_VERSION, plugin.CALLBACK_TYPE, plugin.CALLBACK_NAME, plugin.CALLBACK_NEEDS_ENABLED, sys.path == before]
`,
    'ansible',
  )

  test('runs only where it is enabled by its name, and leaves the folders of modules as they were', async () => {
    expect(await ask(null)).toEqual([2, 'notification', 'holdfast_events', true, true])
  })

  test('finds its parts when only its own folder is known, as ansible loads it', async () => {
    const alone = askPython(
      `
folder = sys.path.pop(0)
sys.path.append(folder + "callback")
import holdfast_events
def answer(question):
    return [holdfast_events.EventFile.__name__, folder.rstrip("/") in sys.path]
`,
      'ansible',
    )
    expect(await alone(null)).toEqual(['EventFile', false])
  })
})

describe('the files of the job', () => {
  test('are named by variables that a playbook inside the playbook does not find', async () => {
    const { left, disabled, events, said } = await play({
      files: { ...FILES, HOLDFAST_OUTPUT_MARKS: '1' },
      steps: begin,
    })
    expect({ left, disabled, said, count: events.length }).toEqual({ left: [], disabled: false, said: [], count: 2 })
  })

  test('are missing where the job is not ours: then nothing is written and nothing is said', async () => {
    const { disabled, said, text, report } = await play({
      files: { HOLDFAST_CALLBACK_FILE: 'callback.json' },
      steps: [],
    })
    expect({ disabled, said, text, report }).toEqual({ disabled: true, said: [], text: null, report: null })
  })

  test('may have no report', async () => {
    const { events, report, disabled } = await play({ files: { HOLDFAST_EVENTS_FILE: 'events.jsonl' }, steps: begin })
    expect([events.length, report, disabled]).toEqual([2, null, false])
  })

  test('that cannot be opened are a warning, and no reason to end the playbook', async () => {
    const { disabled, said } = await play({ files: { HOLDFAST_EVENTS_FILE: 'no/such/folder' }, steps: [] })
    expect(disabled).toBe(true)
    expect(said).toEqual([
      expect.stringMatching(/^warning: holdfast_events: there will be no structured events: .*no\/such/),
    ])
  })

  test('are a pipe in a job with a user of its own, whatever else is named', async () => {
    const { events, text, report } = await play({
      files: { ...FILES, HOLDFAST_EVENTS_PIPE: 'events.pipe' },
      steps: [...begin, ['broken'], ['close']],
    })
    expect(events.map(({ type, order }) => [type, order])).toEqual([
      ['playbook_on_start', 1],
      ['playbook_on_play_start', 2],
    ])
    const reports = (text ?? '').split('\n').filter((line) => line.startsWith('#'))
    expect(reports.map((line) => (JSON.parse(line.slice(1)) as { errors: number }).errors)).toEqual([0, 1])
    expect(report).toBeNull()
  })
})

describe('secret values', () => {
  const files = { ...FILES, HOLDFAST_SECRETS_FILE: 'secrets' }
  const steps: readonly Step[] = [
    ...begin,
    ['result', 'runner_on_ok', 'a', 'one', { msg: 'it is a-canary', n: 1234567 }],
  ]

  test('are hidden in events', async () => {
    const { events, disabled } = await play({
      files,
      secrets: '{"words":["a-canary","1234567"],"origins":["one","two"]}',
      steps,
    })
    expect(disabled).toBe(false)
    expect(events.at(-1)?.result).toEqual({ msg: 'it is ********', n: '********' })
  })

  test('are no matter in a job that has none', async () => {
    const { events } = await play({ steps })
    expect(events.at(-1)?.result).toEqual({ msg: 'it is a-canary', n: 1234567 })
  })

  test.each([['not JSON'], [undefined]])('that cannot be read (%s) leave no event at all', async (secrets) => {
    const { disabled, said, text } = await play({ files, ...(secrets === undefined ? {} : { secrets }), steps: [] })
    expect({ disabled, text }).toEqual({ disabled: true, text: null })
    expect(said).toHaveLength(1)
  })
})

describe('marks in the output', () => {
  test.each([
    ['1', 3],
    ['0', 0],
    ['', 0],
  ])('with HOLDFAST_OUTPUT_MARKS=%s stand once for each event: %i', async (value, count) => {
    const steps: Step[] = [...begin, ['task_start', 'one']]
    const { marks, events } = await play({ files: { ...FILES, HOLDFAST_OUTPUT_MARKS: value }, steps })
    expect([marks, events.length]).toEqual([count, 3])
  })

  test('are left out where nobody asked for them', async () => {
    const { marks, events, report } = await play(begin)
    expect([marks, events.length, report?.errors]).toEqual([0, 2, 0])
  })

  test('are left out for an event that the disk did not take', async () => {
    const { marks, report } = await play({
      files: { ...FILES, HOLDFAST_OUTPUT_MARKS: '1' },
      steps: [...begin, ['lose'], ['task_start', 'lost'], ['take'], ['task_start', 'one'], ['exit']],
    })
    expect([marks, report?.events, report?.dropped, report?.errors]).toEqual([3, 3, 1, 0])
  })
})

describe('a variable that the playbook asks for', () => {
  test('and that nobody answers ends ansible with a word about it', async () => {
    const { exits, said, events } = await play([...begin, ['prompt', 'colour', { private: false, prompt: 'CANARY' }]])
    expect(exits).toEqual([1])
    expect(said).toEqual([
      'error: [holdfast] the playbook asks for the variable colour (vars_prompt) and there is no terminal to answer at' +
        ': give it as an extra variable, or give the prompt a default',
    ])
    expect(events.at(-1)).toMatchObject({
      type: 'playbook_on_vars_prompt',
      result: { variable: 'colour', private: false, default: false },
    })
    expect(JSON.stringify(events)).not.toContain('CANARY')
  })

  test('goes on with its default, which no event shows', async () => {
    const { exits, said, events } = await play([...begin, ['prompt', 'colour', { default: 'CANARY' }]])
    expect([exits, said]).toEqual([[], []])
    expect(events.at(-1)?.result).toEqual({ variable: 'colour', private: true, default: true })
  })
})

describe('an event', () => {
  test('of the playbook, a play and an included file says where it is', async () => {
    const { events } = await play([
      ...begin,
      ['include', 'one', '@FOLDER/more.yml', ['a']],
      ['include', 'one', '/elsewhere/more.yml', ['a', 'b']],
      ['nobody', 'matched'],
      ['nobody', 'remaining'],
    ])
    expect(events.map(({ type, path, play: name, host, result }) => [type, path, name, host, result])).toEqual([
      ['playbook_on_start', 'site.yml', null, null, undefined],
      ['playbook_on_play_start', 'site.yml:1', 'a play', null, undefined],
      ['playbook_on_include', null, 'a play', 'a', { file: 'more.yml', hosts: ['a'] }],
      ['playbook_on_include', null, 'a play', null, { file: '/elsewhere/more.yml', hosts: ['a', 'b'] }],
      ['playbook_on_no_hosts_matched', undefined, 'a play', null, undefined],
      ['playbook_on_no_hosts_remaining', undefined, 'a play', null, undefined],
    ])
  })

  test('of a task has its ids, its action, its place and its role, if it has one', async () => {
    const tasks = {
      'web : copy': {
        action: 'copy',
        resolved_action: 'ansible.builtin.copy',
        role: 'web',
        path: '/elsewhere/x.yml:3',
      },
      plain: {},
    }
    const { events } = await play({
      tasks,
      steps: [...begin, ['task_start', 'web : copy'], ['handler_start', 'plain']],
    })
    const [, , one, other] = events
    expect({ ...one, time: '' }).toEqual({
      order: 3,
      type: 'playbook_on_task_start',
      play: 'a play',
      task: 'web : copy',
      host: null,
      duration: null,
      time: '',
      play_uuid: 'uuid of a play',
      task_uuid: 'uuid of web : copy',
      action: 'copy',
      resolved_action: 'ansible.builtin.copy',
      role: 'web',
      path: '/elsewhere/x.yml:3',
    })
    expect(other).toMatchObject({
      type: 'playbook_on_handler_task_start',
      task: 'plain',
      action: 'command',
      path: null,
    })
    expect(other).not.toHaveProperty('role')
    expect(events[0]).not.toHaveProperty('task_uuid')
    expect(events[0]).not.toHaveProperty('play_uuid')
  })

  test('of a result says whether something changed, as far as the module did', async () => {
    const values = [{ changed: true }, { changed: false }, { changed: 'yes' }, {}]
    const { events } = await play([...begin, ...values.map((one): Step => ['result', 'runner_on_ok', 'a', 'one', one])])
    expect(events.slice(2).map(({ changed }) => changed)).toEqual([true, false, false, undefined])
    expect(events.slice(2).map(({ result }) => result)).toEqual(values)
    for (const event of events.slice(2)) {
      expect(Object.keys(event).at(-1)).toBe('result')
      for (const mark of ['attempts', 'item', 'ignored', 'rescued', 'plays']) expect(event).not.toHaveProperty(mark)
    }
  })

  test('of an unreachable host says whether that is ignored', async () => {
    const tasks = { ignores: { ignore_unreachable: true }, asks: { ignore_unreachable: 'yes' } }
    const { events } = await play({
      tasks,
      steps: [
        ...begin,
        ['result', 'runner_on_unreachable', 'a', 'ignores'],
        ['result', 'runner_on_unreachable', 'a', 'asks'],
        ['result', 'runner_on_unreachable', 'a', 'says nothing'],
      ],
    })
    expect(events.slice(2).map(({ ignored }) => ignored)).toEqual([true, undefined, undefined])
  })

  test('that cannot be made is counted, and the next one is there', async () => {
    const { events, report } = await play([...begin, ['broken'], ['task_start', 'one'], ['broken']])
    expect([events.length, report?.errors]).toEqual([3, 2])
  })
})
