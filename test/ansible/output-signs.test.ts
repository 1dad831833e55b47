import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** What only the text of ansible tells about a run, and what is counted beside its events. */
const folder = mkdtempSync(join(tmpdir(), 'holdfast-signs-'))
afterAll(() => {
  rmSync(folder, { recursive: true })
})

const ask = askPython(`
import os
from types import SimpleNamespace as Any
from holdfast_job import output_signs as signs
from holdfast_job.custom_stats import CustomStats
from holdfast_job.recap_words import RecapWords

class Stats:
    """As ansible's own."""
    def __init__(self): self.custom = {}
    def set_custom_stats(self, key, value, host=None): self.custom.setdefault(host or "_run", {})[key] = value
    def update_custom_stats(self, key, value, host=None):
        own = self.custom.setdefault(host or "_run", {})
        own[key] = own[key] + value if key in own else value

def result_of(values):
    return Any(result=values, task=Any(no_log=values.pop("no_log", False)), host=Any(get_name=lambda: "web1"))

def stats_of(case):
    custom = CustomStats(Stats())
    for values in case["results"]: custom.add(result_of(values))
    return custom.shown(Any(custom=case["custom"]) if case.get("custom") is not None else Any())

def words_of(case):
    class Counting:
        def __init__(self): self.counts = []
        def increment(self, what, host): self.counts.append(what)
    class Unknown: pass
    words = RecapWords()
    words.watch(Unknown if case.get("unknown") else Counting)
    counting = Counting()
    for what, host in case["counted"]: counting.increment(what, host)
    return [counting.counts, [words.take(host) for host in case["asked"]]]

def answer(case):
    do = case["do"]
    if do == "refused": return signs.has_refused(case["text"])
    if do == "remarks": return signs.remarks_of(case["text"])
    if do == "text": return signs.text_of_output(case["path"])
    if do == "open": return len(os.listdir("/proc/self/fd"))
    if do == "stats": return stats_of(case)
    if do == "words": return words_of(case)
`)

describe('a run that ansible refused', () => {
  test.each([
    ['ERROR! no such playbook', true],
    ['ERROR: no such playbook', true],
    ['[ERROR]: no such playbook', true],
    ['a warning\nusage: ansible-playbook [-h]', true],
    ['ansible-playbook: error: arguments', true],
    ['it says ERROR! in the middle', false],
    ['PLAY [all] ***\nERROR! later', false],
    ['ERROR! x\nTASK [a] **', false],
    ['ERROR! x\nRUNNING HANDLER [a] **', false],
    ['ERROR! x\nPLAY RECAP ****', false],
    ['ERROR! x\nPLAY RECAP [', false],
    ['ERROR! the callback holdfast_events cannot be loaded', false],
    ['', false],
  ])('has the text %j: %s', async (text, expected) => {
    expect(await ask({ do: 'refused', text })).toBe(expected)
  })
})

describe('the remarks on a run', () => {
  const unread = (path: string): string => `[WARNING]:  * Unable to parse ${path}\n as an inventory source\n`
  const remarks = (text: string) => ask({ do: 'remarks', text })

  test('name inventories that ansible could not read, three at most, each once', async () => {
    const paths = ['/w/one', '/w/two', '/w/one', '/w/three', '/w/four']
    expect(await remarks(paths.map(unread).join(''))).toEqual(
      ['one', 'two', 'three'].map((name) => `ansible could not read the inventory ${name}: its output says why`),
    )
  })

  test.each([
    ['#!/bin/sh\n', 0o644, ' it begins with #! and is not executable'],
    ['#!/bin/sh\n', 0o755, ' its output says why'],
    ['[web]\n', 0o644, ' its output says why'],
  ])('say why a file with %j and mode %o was not read', async (content, mode, why) => {
    const path = join(folder, `inventory-${mode}`)
    writeFileSync(path, content)
    chmodSync(path, mode)
    expect(await remarks(unread(path))).toEqual([`ansible could not read the inventory inventory-${mode}:${why}`])
  })

  test('name the first variable that a playbook asks for', async () => {
    const asks = (name: string): string => `[holdfast] the playbook asks for the vari\nable ${name} (vars_prompt)\n`
    expect(await remarks(asks('colour') + asks('size'))).toEqual([
      'the playbook asks for the variable colour (vars_prompt) and nobody can answer: give it as an extra variable',
    ])
  })

  test('say that requirements were not installed, that nobody answered a pause, or nothing', async () => {
    expect(await remarks('[holdfast] the requirements could not be installed: no way')).toEqual([
      'what the playbook folder requires could not be installed: the output says why',
    ])
    expect(await remarks('Not waiting for response to prompt as\nstdin is not interactive')).toEqual([
      'a pause did not wait for an answer, because there is no terminal',
    ])
    expect(await remarks('PLAY [all] ***\nok: [web1]')).toEqual([])
  })
})

describe('the text of an output', () => {
  const text = (path: string) => ask({ do: 'text', path })

  test('is without colours and marks, and empty when there is none', async () => {
    const path = join(folder, 'output.log')
    writeFileSync(path, `\x1b[0;31mred\x1b[0m\x1b_${'\x81'.repeat(9)}\x1b\\end`, 'latin1')
    expect(await text(path)).toBe('redend\n')
    expect([await text(join(folder, 'nowhere')), await text(folder)]).toEqual(['', ''])
  })

  test('leaves no file open', async () => {
    const path = join(folder, 'read-often.log')
    writeFileSync(path, 'text')
    const before = await ask({ do: 'open' })
    for (let round = 0; round < 3; round += 1) await ask({ do: 'text', path })
    expect(await ask({ do: 'open' })).toBe(before)
  })

  test('is its beginning and its end, and no byte of it twice', async () => {
    const path = join(folder, 'long.log')
    const [head, tail] = [256 * 1024, 64 * 1024]
    for (const [middle, shown] of [
      [0, 0],
      [tail - 10, tail - 10],
      [tail, tail],
      [2 * tail, tail],
    ] as const) {
      writeFileSync(path, 'h'.repeat(head) + 'm'.repeat(middle))
      expect(await text(path)).toBe(`${'h'.repeat(head)}\n${'m'.repeat(shown)}`)
    }
  })
})

describe('what playbooks published', () => {
  const published = (data: object, more: object = {}) => ({
    ansible_stats: { data, per_host: true, aggregate: false, ...more },
  })
  const shown = (results: object[], custom: object | null) => ask({ do: 'stats', results, custom })

  test('is shown where visible results published it, by host and for the whole run', async () => {
    const results = [published({ a: 1 }), published({ b: 2 }, { per_host: false })]
    const custom = { web1: { a: 1 }, _run: { b: 2 } }
    expect(await shown(results, custom)).toEqual(custom)
    expect(await shown([{ results: [published({ a: 1 }), 'a text', {}] }], { web1: { a: 1 } })).toEqual({
      web1: { a: 1 },
    })
  })

  test('is hidden where a hidden result had a part in it', async () => {
    const hidden = '(hidden because of no_log)'
    const secret = { ...published({ a: 1 }), no_log: true }
    expect(await shown([secret], { web1: { a: 1 } })).toEqual({ web1: { a: hidden } })
    const sums = [published({ a: 1 }, { aggregate: true }), published({ a: 2 }, { aggregate: true })]
    expect(await shown(sums, { web1: { a: 3 } })).toEqual({ web1: { a: 3 } })
    expect(await shown([...sums, secret], { web1: { a: 4 } })).toEqual({ web1: { a: hidden } })
    expect(await shown([published({ a: 1 }), published({ a: 2 })], { web1: { a: 2 } })).toEqual({ web1: { a: 2 } })
    expect(await shown([published({ a: 1 })], { db1: { a: 1 } })).toEqual({ db1: { a: 1 } })
  })

  test('is nothing when nobody published anything, or what was published is no data', async () => {
    for (const custom of [null, {}]) expect(await shown([published({ a: 1 })], custom)).toBeNull()
    const none = [{}, { ansible_stats: 'text' }, { ansible_stats: { data: 'text' } }]
    expect(await shown(none, { web1: { a: 1 } })).toEqual({ web1: { a: '(hidden because of no_log)' } })
  })
})

test('the words of the recap are those counted for a host since they were asked for', async () => {
  const counted = [
    ['ok', 'a'],
    ['changed', 'a'],
    ['failures', 'b'],
  ]
  const answer = await ask({ do: 'words', counted, asked: ['a', 'a', 'b', 'c'] })
  expect(answer).toEqual([
    ['ok', 'changed', 'failures'],
    [['ok', 'changed'], [], ['failures'], []],
  ])
  expect(await ask({ do: 'words', counted, asked: ['a'], unknown: true })).toEqual([
    ['ok', 'changed', 'failures'],
    [null],
  ])
})
