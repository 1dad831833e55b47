import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** What only the text of ansible tells about a run. */
const folder = mkdtempSync(join(tmpdir(), 'holdfast-signs-'))
afterAll(() => {
  rmSync(folder, { recursive: true })
})

const ask = askPython(`
from holdfast_job import output_signs as signs

def answer(case):
    do = case["do"]
    if do == "refused": return signs.has_refused(case["text"])
    if do == "remarks": return signs.remarks_of(case["text"])
    if do == "text": return signs.text_of_output(case["path"])
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
