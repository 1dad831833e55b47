import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hostSettings, translated } from '../../../control-plane/src/cli/commands/host/settings.js'
import { CliError, UnknownNameError, UnreachableError, UsageError } from '../../../control-plane/src/cli/errors.js'
import { ConflictError, DatabaseHeldError, NotFoundError, UnavailableError } from '../../../control-plane/src/errors.js'
import { newQuickPerson } from '../../cli/run-cli.js'
import { makeSmallDatabase } from '../../cli/small-database.js'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-host-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function fileWith(text: string): string {
  const path = join(newFolder(), 'file')
  writeFileSync(path, text)
  return path
}

describe('what the work on the host ends with', () => {
  test.each([
    [new DatabaseHeldError('database_held', 'It is held'), CliError, 6],
    [new UnavailableError('database_away', 'It is away'), UnreachableError, 3],
    [new ConflictError('not_empty', 'It is not empty'), CliError, 5],
    [new NotFoundError('no_user', 'It is not there'), UnknownNameError, 5],
  ])('%s has its own exit code', async (error, kind, exitCode) => {
    const failed = translated(() => Promise.reject(error))
    await expect(failed).rejects.toMatchObject({ exitCode, message: `${error.message}.` })
    await expect(failed).rejects.toBeInstanceOf(kind)
  })

  test('is the answer, or another error as it is', async () => {
    expect(await translated(() => Promise.resolve('done'))).toBe('done')
    const error = new Error('a bug')
    await expect(translated(() => Promise.reject(error))).rejects.toBe(error)
  })
})

describe('the settings of a command on the host', () => {
  test('are those of the environment, of a file that goes before it, and of an option', async () => {
    const settingsFile = fileWith('PORT=8123\nADMIN_USERNAME=of-file\n')
    const environment = { PERSISTENT_PATH: '/of/environment', PORT: '8001' }
    const usual = await hostSettings({}, environment)
    expect([usual.persistentPath, usual.port, usual.logFormat]).toEqual(['/of/environment', 8001, 'json'])
    const given = await hostSettings({ settingsFile, persistentPath: '/of/option' }, environment)
    expect([given.persistentPath, given.port, given.admin.username]).toEqual(['/of/option', 8123, 'of-file'])
  })

  test('do not hide a bug', async () => {
    const bug = new Error('a bug')
    const environment = {
      get PORT(): string {
        throw bug
      },
    }
    await expect(hostSettings({}, environment)).rejects.toBe(bug)
  })

  test.each([
    [() => ({ settingsFile: '/nowhere/file' }), {}, '--settings-file: ENOENT'],
    [() => ({}), { PORT: 'x' }, 'PORT'],
    [() => ({ settingsFile: fileWith('PORT=x\n') }), {}, 'PORT'],
  ])('that are wrong are a wrong command line (%#)', async (args, environment, words) => {
    const read = hostSettings(args(), { PERSISTENT_PATH: '/data', ...environment })
    await expect(read).rejects.toThrow(UsageError)
    await expect(read).rejects.toThrow(words)
    await expect(read).rejects.not.toThrow(words === 'PORT' ? '--settings-file' : 'PORT')
  })
})

describe('config check', () => {
  const run = (...args: readonly string[]) => newQuickPerson().run(['config', 'check', ...args])

  test('says that a file is good, or where it is wrong', async () => {
    const good = fileWith('roles:\n  - name: admin\n    groups: [local/admins]\n')
    expect(await run(good)).toEqual({ code: 0, stdout: `${good} is good.\n`, stderr: '' })
    expect(await run(good, '--json')).toMatchObject({ code: 0, stdout: '{"ok":true,"problem":null}\n' })
    const wrong = fileWith('roles: []\n')
    const { code, stdout } = await run(wrong)
    expect([code, stdout]).toEqual([1, `${wrong}, line 1: the role admin is missing\n`])
    const json = await run(wrong, '--json')
    expect([json.code, JSON.parse(json.stdout)]).toEqual([
      1,
      { ok: false, problem: { line: 1, reason: 'the role admin is missing' } },
    ])
  })

  test('needs a file that can be read', async () => {
    const { code, stderr } = await run('/nowhere/config.yaml')
    expect([code, stderr]).toEqual([
      2,
      "holdfast: /nowhere/config.yaml: cannot be read: ENOENT: no such file or directory, open '/nowhere/config.yaml'\n",
    ])
  })
})

describe('admin reset-password', () => {
  test('tells a person at a terminal whose password it is, and not a program', async () => {
    const folder = newFolder()
    await makeSmallDatabase(folder)
    const reset = ['admin', 'reset-password', 'ada', '--persistent-path', folder]
    const person = await newQuickPerson().run(reset, { screenColumns: 80 })
    expect(person).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^[\w-]{24}\n$/),
      stderr: 'The new password of ada:\n',
    })
    expect((await newQuickPerson().run(reset)).stderr).toBe('')
    // The database is closed again.
    const files = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`)
      } catch {
        return ''
      }
    })
    expect(files.filter((path) => path.startsWith(folder))).toEqual([])
    const json = await newQuickPerson().run([...reset, '--json'], { screenColumns: 80 })
    expect([JSON.parse(json.stdout), json.stderr]).toEqual([
      { username: 'ada', password: expect.stringMatching(/^[\w-]{24}$/) },
      '',
    ])
  })
})
