import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DatabaseHeldError } from '../../control-plane/src/errors.js'
import { type DatabaseHold, holdSqliteFile } from '../../control-plane/src/store/sqlite/sqlite-hold.js'
import { closeDatabase, openDatabase, query } from '../support/database-file.js'
import { type RunningProcess, startProgram } from '../support/process.js'
import { ROOT } from '../support/product.js'
import { waitFor } from '../support/wait.js'

const PROGRAM = join(ROOT, 'control-plane/bin/holdfast.js')
const UNSHARE = ['--pid', '--fork', '--mount-proc'] as const

let folder: string
const started: RunningProcess[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-hold-'))
})
afterEach(async () => {
  await Promise.all(started.splice(0).map((program) => program.stop('SIGKILL')))
  rmSync(folder, { recursive: true, force: true })
})

function serve(command: readonly string[] = [PROGRAM]): RunningProcess {
  const [program, ...args] = command as [string, ...string[]]
  const environment = {
    PERSISTENT_PATH: folder,
    PORT: '0',
    LOG_FORMAT: 'json',
    ADMIN_PASSWORD: 'correct horse battery',
  }
  const running = startProgram(program, [...args, 'serve'], environment)
  started.push(running)
  return running
}

async function listening(program: RunningProcess): Promise<void> {
  await waitFor('the control plane to listen', () => {
    if (!program.isRunning()) throw new Error(program.said())
    return program.said().includes('"listening"')
  })
}

/** Waits for its end, which must come by itself. */
async function refused(program: RunningProcess): Promise<number | null> {
  await waitFor('the second control plane to end', () => !program.isRunning())
  return (await program.exited).code
}

test('a second control plane on the same file is refused and says who has it; it may start when that one was killed', async () => {
  const first = serve()
  await listening(first)
  const second = serve()
  expect(await refused(second)).toBe(6)
  expect(second.said()).toMatch(
    new RegExp(
      `Another control plane works on the database ${folder}/holdfast.db \\(pid ${first.pid} on \\S+, since 2`,
    ),
  )
  expect(second.said()).toContain('stop it, or give this one a folder of its own with --persistent-path')

  // From another PID namespace the first one's number means nothing; the lock counts all the same.
  if (spawnSync('unshare', [...UNSHARE, 'true']).status === 0) {
    expect(await refused(serve(['unshare', ...UNSHARE, PROGRAM]))).toBe(6)
  }

  // Who only reads, as a backup does, is not in the way and not refused.
  const reader = await openDatabase(join(folder, 'holdfast.db'), 'read')
  expect(await query(reader, 'select count(*) as users from user')).toEqual([{ users: 1 }])
  expect(first.isRunning()).toBe(true)

  await first.stop('SIGKILL')
  await listening(serve())
  await closeDatabase(reader)
})

const options = { warn: () => undefined }
const holder = (token: string) => ({ token, pid: Number(token), host: 'here', since: 1 })

test('of several that begin at the same moment one gets the file, and the others name that one', async () => {
  const path = join(folder, 'holdfast.db')
  const tries = await Promise.allSettled(['1', '2', '3'].map((token) => holdSqliteFile(path, holder(token), options)))
  const held = tries.filter((one) => one.status === 'fulfilled')
  expect(held).toHaveLength(1)
  const winner = tries.findIndex((one) => one.status === 'fulfilled') + 1
  for (const one of tries) {
    if (one.status === 'fulfilled') continue
    expect(one.reason).toBeInstanceOf(DatabaseHeldError)
    expect(String(one.reason)).toContain(`(pid ${winner} on here, since 1970-01-01T00:00:00.001Z)`)
  }
  await held[0]?.value.close()
  await (await holdSqliteFile(path, holder('4'), options)).close()
})

test('another file in another folder is held for itself, with its own lock beside it', async () => {
  const paths = ['one', 'other'].map((name) => join(mkdtempSync(join(folder, `${name}-`)), 'holdfast.db'))
  const holds: DatabaseHold[] = []
  for (const [place, path] of paths.entries()) holds.push(await holdSqliteFile(path, holder(String(place)), options))
  for (const path of paths) expect(readdirSync(dirname(path))).toContain('holdfast.db-lock')
  for (const hold of holds) await hold.close()
})

test('by a symbolic link it is the same file', async () => {
  const path = join(folder, 'holdfast.db')
  writeFileSync(path, '')
  const hold = await holdSqliteFile(path, holder('1'), options)
  const link = join(mkdtempSync(join(folder, 'other-')), 'link.db')
  symlinkSync(path, link)
  await expect(holdSqliteFile(link, holder('2'), options)).rejects.toThrow(DatabaseHeldError)
  await hold.close()
})
