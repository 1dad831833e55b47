import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { findHostPython, interpreterOfAnsible } from '../../../runner-agent/src/playbook/host-python.js'
import { openFilesBelow } from '../../agent/open-files.js'

/** Programs that answer as Pythons do: which of them runs supervisors, and what is said of the others. */
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-python-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
})

function program(path: string, text: string, mode = 0o755): string {
  const whole = join(folder, path)
  mkdirSync(join(whole, '..'), { recursive: true })
  writeFileSync(whole, text)
  chmodSync(whole, mode)
  return whole
}

/** A Python of this version, in a locale of this encoding. */
function pythonOf(path: string, version: readonly number[], encoding = 'UTF-8', ofUtf8 = 'UTF-8'): string {
  const answer = JSON.stringify([`/real/${path}`, version, encoding, ofUtf8])
  return program(path, `#!/bin/sh\necho '${answer}'\n`)
}

const environment = () => ({ PATH: `${folder}/bin` })

describe('the Python that runs supervisors', () => {
  test.each([
    [[3, 8, 0], true],
    [[3, 14, 2], true],
    [[4, 0, 0], true],
    [[3, 7, 9], false],
  ])('may be of version %j: %s', async (version, isFit) => {
    const found = await findHostPython(environment(), pythonOf('named', version))
    expect(found.path).toBe('/real/named')
    expect(found.problem === null).toBe(isFit)
  })

  test.each([
    [[3, 4, 0], true],
    [[3, 3, 9], false],
    [[2, 9, 0], false],
  ])('of version %j can at least lock the state folder: %s', async (version, canLock) => {
    const named = pythonOf('named', version)
    const words = `playbooks need Python 3.8 or later on this host, and ${named} (RTE_PYTHON) is Python ${version.join('.')}`
    const found = findHostPython(environment(), named)
    if (canLock) expect((await found).problem).toBe(`${words}; name another one with RTE_PYTHON`)
    else await expect(found).rejects.toThrow(words)
  })

  test('is that of ansible-playbook, and else the one in PATH', async () => {
    const ofAnsible = pythonOf('venv/python3', [3, 12, 0])
    pythonOf('bin/python3', [3, 11, 0])
    expect((await findHostPython(environment(), null)).path).toBe('/real/bin/python3')
    program('bin/ansible-playbook', `#!${ofAnsible}\nimport ansible\n`)
    expect(interpreterOfAnsible(`${folder}/bin`)).toBe(ofAnsible)
    expect((await findHostPython(environment(), null)).path).toBe('/real/venv/python3')
  })

  test('is the first that fits, and what is said names the others', async () => {
    const old = pythonOf('venv/python3', [3, 6, 1])
    program('bin/ansible-playbook', `#!${old}\n`)
    pythonOf('bin/python3', [3, 9, 0])
    expect(await findHostPython(environment(), null)).toMatchObject({ path: '/real/bin/python3', problem: null })
    pythonOf('bin/python3', [3, 5, 0])
    const { path, problem } = await findHostPython(environment(), null)
    expect(path).toBe('/real/venv/python3')
    expect(problem).toBe(
      `playbooks need Python 3.8 or later on this host, and ${old} (of ansible-playbook) is Python 3.6.1, ` +
        'python3 is Python 3.5.0; install one, or name it with RTE_PYTHON',
    )
  })

  test('is asked without modules of the user and of the site, and with few variables of the agent', async () => {
    const answer = JSON.stringify(['/real', [3, 12, 0], 'UTF-8', 'UTF-8'])
    const asked = join(folder, 'asked')
    const words = `{ echo "$1 $2 $3 $#"; pwd; /usr/bin/env; } > ${asked}`
    const named = program('named', `#!/bin/sh\n${words}\necho '${answer}'\n`)
    await findHostPython({ ...environment(), LC_ALL: 'C', PYTHONPATH: '/x', RTE_JOIN_TOKEN: 'x' }, named)
    const told = readFileSync(asked, 'utf8').split('\n')
    expect(told.slice(0, 2)).toEqual(['-s -S -c 4', '/'])
    expect(told).toContain('LC_ALL=C')
    expect(told.filter((line) => /^(?:PYTHONPATH|RTE_|VITEST)/.test(line))).toEqual([])
    expect(openFilesBelow(folder)).toEqual([])
  })

  test('is none that does not answer as a Python does', async () => {
    const wrong = program('wrong', '#!/bin/sh\necho hello\n')
    await expect(findHostPython(environment(), wrong)).rejects.toThrow(`${wrong} (RTE_PYTHON) is no Python`)
    const failing = program('failing', '#!/bin/sh\nexit 3\n')
    await expect(findHostPython(environment(), failing)).rejects.toThrow('does not run here')
    await expect(findHostPython(environment(), null)).rejects.toThrow('python3 does not run here')
  })
})

test.each([
  ['UTF-8', 'UTF-8', null, null],
  ['utf8', 'none', null, null],
  ['ISO-8859-1', 'UTF-8', 'C.UTF-8', "the agent's locale has the encoding ISO-8859-1; playbooks get LC_ALL=C.UTF-8"],
  ['unknown', 'utf-8', 'C.UTF-8', "the agent's locale is not installed; playbooks get LC_ALL=C.UTF-8"],
  ['none', 'unknown', null, 'there is no C.UTF-8 here: jobs will fail'],
])(
  'in a locale with the encoding %s, and %s for C.UTF-8, playbooks get LC_ALL %s',
  async (own, ofUtf8, locale, words) => {
    const found = await findHostPython(environment(), pythonOf('named', [3, 12, 0], own, ofUtf8))
    expect(found.locale).toBe(locale)
    if (words === null) expect(found.localeDoubt).toBeNull()
    else expect(found.localeDoubt).toContain(words)
  },
)

describe('the first line of ansible-playbook', () => {
  test.each([
    ['#!/opt/venv/bin/python3\n', '/opt/venv/bin/python3'],
    ['#! /usr/bin/python3.11 -I\n', '/usr/bin/python3.11'],
    ['#!/usr/bin/env python3\n', null],
    ['#!/bin/bash\n', null],
    ['import ansible\n', null],
    ['#!/bin/sh\n\'\'\'exec\' "/a path/python3" "$0" "$@"\n', '/a path/python3'],
    ['#!/bin/sh\n\'\'\'exec\' /long/python3 "$0" "$@"\n', '/long/python3'],
    ['#!/bin/sh\nexec python3\n', null],
    ['', null],
  ])('%j names the Python %s', (text, expected) => {
    program('bin/ansible-playbook', text)
    expect(interpreterOfAnsible(`/nowhere:relative:${folder}/bin`)).toBe(expected)
  })

  test('is looked for only in a program', () => {
    program('bin/ansible-playbook', '#!/usr/bin/python3\n', 0o644)
    expect(interpreterOfAnsible(`${folder}/bin`)).toBeNull()
    expect(interpreterOfAnsible(undefined)).toBeNull()
    mkdirSync(join(folder, 'other/ansible-playbook'), { recursive: true })
    expect(interpreterOfAnsible(`${folder}/other`)).toBeNull()
  })
})
