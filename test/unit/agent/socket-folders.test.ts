import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../runner-agent/src/log.js'
import { openSocketFolders } from '../../../runner-agent/src/playbook/socket-folders.js'

const RUN = 'a'.repeat(32)
const OTHER = 'b'.repeat(32)

/** A state folder whose path has so many bytes, or a few more. */
function stateFolder(bytes = 0): string {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-sockets-'))
  onTestFinished(() => {
    rmSync(parent, { recursive: true })
  })
  const path = join(parent, 'x'.repeat(Math.max(1, bytes - parent.length - 1)))
  mkdirSync(path)
  return path
}

const open = (statePath: string) =>
  openSocketFolders(statePath, createLog({ level: 'silent', format: 'json', output: process.stdout }))
const modeOf = (path: string) => statSync(path).mode & 0o777

test('every job has a folder of its own below the state folder, for nobody else to enter', async () => {
  const statePath = stateFolder()
  const folders = open(statePath)
  const [one, two] = [folders.folderOf(RUN), folders.folderOf(OTHER)]
  expect([one, two]).toEqual(['a', 'b'].map((letter) => join(statePath, 'sockets', letter.repeat(12))))
  expect([folders.folderOf(RUN), modeOf(one), modeOf(dirname(one))]).toEqual([one, 0o700, 0o700])
  await folders.remove(RUN)
  expect([existsSync(one), existsSync(two)]).toEqual([false, true])
  await folders.remove(OTHER)
  expect(existsSync(dirname(two))).toBe(true)
})

test('a path that is too long for sockets is not used, and nothing is left outside of the state folder', async () => {
  // `/sockets` comes to it: 58 bytes are the most, with what a job, ansible and ssh add.
  const [fits, long] = [stateFolder(58), stateFolder(59)]
  expect(open(fits).folderOf(RUN)).toBe(join(fits, 'sockets', 'a'.repeat(12)))
  const folders = open(long)
  const [one, two] = [folders.folderOf(RUN), folders.folderOf(OTHER)]
  expect(dirname(dirname(one))).toBe(tmpdir())
  expect([dirname(one), modeOf(dirname(one))]).toEqual([dirname(two), 0o700])
  expect(existsSync(join(long, 'sockets'))).toBe(false)
  await folders.remove(RUN)
  expect(existsSync(two)).toBe(true)
  await folders.remove(OTHER)
  expect(existsSync(dirname(two))).toBe(false)
})

test('a folder that others may enter is not used', () => {
  const statePath = stateFolder()
  const root = join(statePath, 'sockets')
  mkdirSync(root, { mode: 0o700 })
  chmodSync(root, 0o750)
  const made = open(statePath).folderOf(RUN)
  onTestFinished(() => {
    rmSync(made, { recursive: true })
  })
  expect([dirname(made), modeOf(made)]).toEqual([tmpdir(), 0o700])
})
