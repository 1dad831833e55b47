import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FormFiles, createFormFiles } from '../../../control-plane/src/sources/file-functions.js'

/** Largest file that is read, and most entries of a list. */
const MAX_BYTES = 8 * 1024 * 1024
const MAX_ENTRIES = 10_000

let outer: string
/** FORM_FILES_PATH */
let root: string
let files: FormFiles
beforeEach(() => {
  outer = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-files-')))
  root = join(outer, 'files')
  mkdirSync(root)
  files = createFormFiles(root)
})
afterEach(() => rmSync(outer, { recursive: true }))

const put = (path: string, text = '') => {
  writeFileSync(join(root, path), text)
}
const names = (path = '.', recursive = false) => files.list(path, { recursive, metadata: false })
const problem = (message: string) => ({ name: 'SourceProblem', message })

test('a recursive list goes 20 folders deep, and fails instead of leaving out deeper files', async () => {
  const deepest = Array.from({ length: 20 }, () => 'in').join('/')
  mkdirSync(join(root, deepest), { recursive: true })
  put(`${deepest}/a.txt`)
  expect(await names('.', true)).toEqual([`${deepest}/a.txt`])

  mkdirSync(join(root, deepest, 'deeper'))
  await expect(names('.', true)).rejects.toMatchObject(problem('. has folders deeper than 20'))
  expect(await names('in', true)).toHaveLength(1)
  expect(await files.list(deepest, { recursive: false, metadata: true })).toHaveLength(2)
})

test('a list has 10000 entries at most, and fails instead of leaving out others', async () => {
  for (let n = 0; n < MAX_ENTRIES; n += 1) put(`${n}`)
  expect(await names()).toHaveLength(MAX_ENTRIES)
  // Folders are no entries of this list.
  mkdirSync(join(root, 'folder'))
  expect(await names()).toHaveLength(MAX_ENTRIES)
  put('one-more')
  await expect(names()).rejects.toMatchObject(problem(`. has more than ${MAX_ENTRIES} entries`))
})

test('a list has files in the order of their names, folders only with more about each, and never links', async () => {
  mkdirSync(join(root, 'b'))
  for (const path of ['c', 'a', 'b/d']) put(path, 'xy')
  symlinkSync(join(root, 'a'), join(root, 'link'))
  symlinkSync(join(root, 'b'), join(root, 'linked-folder'))
  expect(await names()).toEqual(['a', 'c'])
  expect(await names('.', true)).toEqual(['a', 'b/d', 'c'])
  chmodSync(join(root, 'a'), 0o640)
  const [first, second, third, ...others] = await files.list('.', { recursive: true, metadata: true })
  expect(first).toMatchObject({
    name: 'a',
    path: 'a',
    size: 2,
    mode: 0o100640,
    type: 'file',
    isFile: true,
    isDirectory: false,
    isSymbolicLink: false,
    modified: expect.any(Date),
  })
  expect(second).toMatchObject({ path: 'b', type: 'directory', isFile: false, isDirectory: true })
  expect(third).toMatchObject({ name: 'd', path: 'b/d', isFile: true })
  expect(others).toMatchObject([{ path: 'c' }])
})

describe('a path', () => {
  test('may be that of the folder itself, or absolute, or lead through a link to the folder', async () => {
    put('a.json', '1')
    symlinkSync(root, join(outer, 'link'))
    expect(await names(root)).toEqual(['a.json'])
    expect(await files.readJson(join(root, 'a.json'))).toBe(1)
    const linked = createFormFiles(join(outer, 'link'))
    expect(await linked.readJson(join(outer, 'link/a.json'))).toBe(1)
    expect(await linked.readJson(join(root, 'a.json'))).toBe(1)
  })

  test('that leaves the folder is refused, whether anything is there or not', async () => {
    mkdirSync(join(outer, 'files-of-others'))
    writeFileSync(join(outer, 'files-of-others/a.json'), '1')
    symlinkSync(join(outer, 'files-of-others'), join(root, 'out'))
    const paths = ['..', '../none', '/etc/hostname', '../files-of-others/a.json', 'out/a.json', 'out']
    for (const path of [...paths, join(outer, 'files-of-others/a.json')]) {
      await expect(files.readJson(path)).rejects.toMatchObject(
        problem(`the file ${path} is not below the folder for the files of forms (FORM_FILES_PATH)`),
      )
    }
  })

  test('must lead to a file, or to a folder', async () => {
    put('a.json', '1')
    await expect(files.readJson('.')).rejects.toMatchObject(problem('. is no file'))
    await expect(names('a.json')).rejects.toMatchObject(problem('a.json is no folder'))
    await expect(files.readYaml('none')).rejects.toMatchObject(problem('there is no file none'))
    await expect(createFormFiles(join(outer, 'none')).readYaml('a')).rejects.toMatchObject(
      problem('there is no folder for the files of forms (FORM_FILES_PATH)'),
    )
  })
})

describe('a file', () => {
  test('may have 8 MiB, and not a byte more', async () => {
    put('a.json', '1')
    const spaces = Buffer.alloc(MAX_BYTES - 1, ' ').toString()
    put('a.json', `1${spaces}`)
    expect(await files.readJson('a.json')).toBe(1)
    truncateSync(join(root, 'a.json'), MAX_BYTES + 1)
    await expect(files.readJson('a.json')).rejects.toMatchObject(problem('the file a.json is too large'))
  })

  test('becomes plain values, and one that cannot be read is a problem', async () => {
    put('a.yaml', 'a: 2026-01-02\nb: [1, x]\n')
    expect(await files.readYaml('a.yaml')).toMatchObject({ b: [1, 'x'] })
    put('empty.yaml')
    expect(await files.readYaml('empty.yaml')).toBeNull()
    put('broken', '{"a": ')
    const broken = problem('the file broken holds no valid YAML or JSON')
    await expect(files.readJson('broken')).rejects.toMatchObject(broken)
    await expect(files.readYaml('broken')).rejects.toMatchObject(broken)
  })

  test('that is nested too deep, or has too much in it, is a problem that says so', async () => {
    const lists = '['.repeat(2_000_000) + ']'.repeat(2_000_000)
    put('deep.json', lists)
    put('many.json', `[${'1,'.repeat(1_000_000)}1]`)
    put('deep.yaml', lists.slice(1_000_000, 3_000_000))
    await expect(files.readJson('deep.json')).rejects.toThrow(/deep.json .*100 levels/)
    await expect(files.readJson('many.json')).rejects.toThrow(/many.json .*1000000 values/)
    await expect(files.readYaml('deep.yaml')).rejects.toThrow(/deep.yaml .*line 1: .*100 levels/)
  })
})
