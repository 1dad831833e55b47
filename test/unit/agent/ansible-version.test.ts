import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readAnsibleVersion } from '../../../runner-agent/src/playbook/ansible-version.js'

const said = execFileSync('ansible-playbook', ['--version'], { encoding: 'utf8' })
const version = /core ([^\]\s]+)/.exec(said)?.[1]

test('the version is that of ansible-playbook, whether the program or its Python is asked', async () => {
  expect(version).toMatch(/^\d+\.\d+/)
  expect(await readAnsibleVersion(process.env)).toBe(version)

  const folder = mkdtempSync(join(tmpdir(), 'holdfast-version-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
  const ask = (): Promise<string | null> => readAnsibleVersion({ ...process.env, PATH: `${folder}:/usr/bin:/bin` })
  const install = (script: string): void => {
    writeFileSync(join(folder, 'ansible-playbook'), script, { mode: 0o755 })
  }
  install('#!/bin/sh\necho "ansible-playbook [core 9.8.7rc1]"\n')
  expect(await ask()).toBe('9.8.7rc1')
  // A Python that has no ansible: the program itself is asked.
  const python = join(folder, 'python9')
  writeFileSync(python, '#!/bin/sh\n[ "$1" = -c ] && exit 1\necho "ansible-playbook [core 6.5.4]"\n', { mode: 0o755 })
  install(`#!${python}\n`)
  expect(await ask()).toBe('6.5.4')
  install('#!/bin/sh\nexit 1\n')
  expect(await ask()).toBeNull()
})
