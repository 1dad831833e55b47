import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newQuickPerson } from './run-cli.js'
import { makeSmallDatabase } from './small-database.js'

/** An installation at rest, with files in all its folders. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  forms: ['forms/hello.yml'],
  workflows: ['workflows/chain.yml'],
  playbooks: ['playbooks/roles/hello.yml'],
  config: ['config.yaml', 'credentials.yaml'],
  uploads: ['uploads/aa/one'],
  secrets: ['encryption-secret', 'access-token-secret'].flatMap((name) => [name, `${name}.previous`]),
}
const FILES = Object.values(PARTS).flat()
const USUAL = FILES.filter((path) => !PARTS['secrets']?.includes(path))

let root: string
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-choices-'))
  for (const path of FILES) {
    mkdirSync(dirname(join(root, 'here', path)), { recursive: true })
    writeFileSync(join(root, 'here', path), `of ${path}\n`)
  }
  await makeSmallDatabase(join(root, 'here'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

const run = (command: 'backup' | 'restore', file: string, folder: string, ...more: readonly string[]) =>
  newQuickPerson().run([command, join(root, file), '--persistent-path', folder, ...more])
const backup = (file: string, ...more: readonly string[]) => run('backup', file, join(root, 'here'), ...more)

/** Which of those files are in a new installation that is made of a backup. */
async function restored(file: string, ...more: readonly string[]) {
  const folder = mkdtempSync(join(root, 'there-'))
  const { code, stderr, stdout } = await run('restore', file, folder, ...more)
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^verified\ncompared\n/)])
  const files = FILES.filter((path) => existsSync(join(folder, path)))
  for (const path of files) expect(readFileSync(join(folder, path), 'utf8')).toBe(`of ${path}\n`)
  return { files, stdout, stderr, folder }
}

it('a backup has everything but the secrets, and says how much that is', async () => {
  const { code, stdout, stderr } = await backup('usual')
  expect([code, stderr]).toEqual([0, 'written\nverified\n'])
  expect(stdout).toMatch(
    new RegExp(`usual: 0 jobs, \\d+ rows in \\d+ tables, ${USUAL.length} files; read back and compared\\.\\n$`),
  )
  const there = await restored('usual')
  expect(there.files).toEqual(USUAL)
  expect(there.stdout).toMatch(new RegExp(`^Restored 0 jobs, \\d+ rows and ${USUAL.length} files\\.`))
})

it.each(Object.keys(PARTS))('a backup with %s alone has these files', async (part) => {
  const { code, stderr } = await backup(`with-${part}`, '--with', part)
  const warning = 'Warning: the backup holds the secrets and is not encrypted: give --passphrase-file.\n'
  expect([code, stderr]).toEqual([0, `${part === 'secrets' ? warning : ''}written\nverified\n`])
  expect((await restored(`with-${part}`, '--with', part)).files).toEqual(PARTS[part])
})

it('a restore brings all that the backup has, or says what it leaves out', async () => {
  await backup('all', ...Object.keys(PARTS).flatMap((part) => ['--with', part]))
  expect((await restored('all')).files).toEqual(FILES)
  const some = await restored('all', '--with', 'forms', '--with', 'secrets')
  expect(some.files).toEqual(FILES.filter((path) => /^forms|secret/.test(path)))
  const none = await restored('all', '--database-only')
  expect([none.files, none.stdout]).toEqual([[], expect.stringContaining(' rows and 0 files.')])
  expect(none.stderr).toContain('left out, although the backup has it: ')
})

it('a passphrase has 8 characters in the first line, and then there is no warning', async () => {
  const passphrase = join(root, 'passphrase')
  const sealed = () => backup('sealed', '--with', 'secrets', '--passphrase-file', passphrase)
  for (const text of ['1234567\n12345678\n', '\n', '']) {
    writeFileSync(passphrase, text)
    const { code, stderr } = await sealed()
    expect([code, stderr]).toEqual([
      2,
      'holdfast: --passphrase-file: the first line must have at least 8 characters.\n',
    ])
  }
  writeFileSync(passphrase, '12345678\r\nmore\n')
  const { code, stderr } = await sealed()
  expect([code, stderr]).toEqual([0, 'written\nverified\n'])
  const files = await restored('sealed', '--with', 'secrets', '--passphrase-file', passphrase)
  expect(files.files).toEqual(PARTS['secrets'])
  rmSync(passphrase)
  expect((await sealed()).stderr).toContain('holdfast: --passphrase-file: ENOENT')
})

it('a database is replaced only when that is said, and again as often as it is', async () => {
  await backup('rows', '--database-only')
  const { folder } = await restored('rows')
  const kept = () => readdirSync(folder).filter((name) => /^holdfast\.db\.before-restore-\d{8}T\d{6}$/.test(name))
  expect((await run('restore', 'rows', folder)).code).toBe(5)
  expect(kept()).toEqual([])
  expect((await run('restore', 'rows', folder, '--replace')).code).toBe(0)
  expect(kept()).toHaveLength(1)
  // The next one may come in the same second.
  for (const name of kept()) rmSync(join(folder, name))
  expect((await run('restore', 'rows', folder, '--replace')).code).toBe(0)
  expect(kept()).toHaveLength(1)
})
