import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  type BigIntStats,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  type HashedFile,
  READ_BYTES,
  createFileHashes,
  openStamped,
} from '../../control-plane/src/runners/files/file-hashes.js'
import { stampOf } from '../../control-plane/src/runners/files/file-stamp.js'
import { createFolderRulesReader } from '../../control-plane/src/runners/files/folder-rules.js'
import { type FolderFile } from '../../control-plane/src/runners/files/folder-walk.js'

/** How the playbook folder is read: what of it is listed, hashed again, and remembered. */

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-files-')))
})
afterEach(() => {
  expect(openFiles()).toEqual([])
  rmSync(folder, { recursive: true, force: true })
})

/** The files of the folder that this process has open. */
function openFiles(): string[] {
  const paths = readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`)
    } catch {
      return ''
    }
  })
  return paths.filter((path) => path.startsWith(`${folder}/`))
}

function write(path: string, content: string | Buffer = 'x'): FolderFile {
  writeFileSync(join(folder, path), content)
  return listed(path)
}
function listed(path: string): FolderFile {
  return { path, stamp: stampOf(lstatSync(join(folder, path), { bigint: true })) }
}
const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex')
/** A clock at which files have not changed for long. */
const later = () => Date.now() + 3_600_000

/** The files that have a hash. */
const hashed = async (files: FolderFile[], hashes = createFileHashes(later)) => (await hashes.hash(folder, files)).files

describe('the hashes of files', () => {
  test.each([
    ['nothing', Buffer.alloc(0)],
    ['a text', Buffer.from('text')],
    ['as much as is read at a time', Buffer.alloc(READ_BYTES, 'x')],
    ['one byte more', Buffer.alloc(READ_BYTES + 1, 'x')],
  ])('are those of all the bytes: %s', async (_, content) => {
    const file = write('a', content)
    expect(await hashed([file])).toEqual([{ ...file, sha256: sha256(content) }])
  })

  test('stay in the order of the files, and files that are gone are left out', async () => {
    const files = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => write(name, name))
    rmSync(join(folder, 'c'))
    const found = await hashed(files)
    expect(found.map(({ path, sha256: hash }) => [path, hash === sha256(path)])).toEqual(
      ['a', 'b', 'd', 'e', 'f', 'g'].map((name) => [name, true]),
    )
  })

  test.each([
    [2000, false],
    [2001, true],
  ])('of a file that changed %d ms ago are remembered: %s', async (milliseconds, isRemembered) => {
    const file = write('a', 'first')
    const hashes = createFileHashes(() => file.stamp.changedAt + milliseconds)
    const [first] = await hashed([file], hashes)
    await hashed([file], hashes)
    // A file that is not read is not missed.
    rmSync(join(folder, 'a'))
    expect(await hashed([file], hashes)).toEqual(isRemembered ? [first] : [])
  })

  test('are remembered only for files of the latest list, and only with the same stamp', async () => {
    const [one, two] = [write('a', 'first'), write('b', 'first')]
    const hashes = createFileHashes(later)
    await hashed([one, two], hashes)
    const changed = write('b', 'changed')
    expect((await hashed([one, changed], hashes)).map((file) => file.sha256)).toEqual(['first', 'changed'].map(sha256))
    await hashed([changed], hashes)
    rmSync(join(folder, 'a'))
    expect(await hashed([one], hashes)).toEqual([])
  })

  test('of a file that changed since it was listed are those of now', async () => {
    const old = write('a', 'first')
    rmSync(join(folder, 'a'))
    const now = write('a', 'another')
    expect(await hashed([old])).toEqual([{ ...now, sha256: sha256('another') }])
  })

  test('do not exist for what is no file any more', async () => {
    const file = write('a')
    rmSync(join(folder, 'a'))
    mkdirSync(join(folder, 'a'))
    expect((await createFileHashes(later).hash(folder, [file, write('b')])).leftOut).toEqual([
      { path: 'a', reason: expect.stringContaining('changes') as string },
    ])
  })

  test('do not exist for a path that the system refuses, and say what it says', async () => {
    const file = { ...write('a'), path: 'x'.repeat(300) }
    const { files, leftOut } = await createFileHashes(later).hash(folder, [file])
    expect([files, leftOut.map(({ reason }) => reason)]).toEqual([[], [expect.stringContaining('ENAMETOOLONG')]])
    await expect(openStamped(join(folder, file.path), file.stamp)).rejects.toMatchObject({ code: 'ENAMETOOLONG' })
  })

  test('a file is opened while it is the one that was listed, and nothing else in its place is', async () => {
    const file = write('a')
    const path = join(folder, 'a')
    const handle = await openStamped(path, file.stamp)
    expect(handle).not.toBeNull()
    await handle?.close()
    write('b')
    for (const put of [
      () => writeFileSync(path, 'another'),
      () => symlinkSync('b', path),
      () => execFileSync('mkfifo', [path]),
      () => mkdirSync(path),
      () => undefined,
    ]) {
      rmSync(path, { recursive: true, force: true })
      put()
      expect(await openStamped(path, file.stamp)).toBeNull()
    }
  })
})

describe('the stamp of a file', () => {
  const STAT = { dev: 1n, ino: 2n, size: 3n, mtimeNs: 4_000_000n, ctimeNs: 5_000_000n, mode: 0o100644n }
  const of = (changes: Partial<typeof STAT>) => stampOf({ ...STAT, ...changes } as unknown as BigIntStats)

  test.each([{ dev: 9n }, { ino: 9n }, { size: 9n }, { mtimeNs: 9n }, { ctimeNs: 9n }])(
    'is another one with %o',
    (change) => {
      expect(of(change).key).not.toBe(of({}).key)
      expect(of({ mode: 0o100755n }).key).toBe(of({}).key)
    },
  )

  test('knows the later change, and who may read, write and run the file', () => {
    expect([of({}).changedAt, of({ mtimeNs: 8_000_000n }).changedAt]).toEqual([5, 8])
    expect([0o100644n, 0o104750n, 0o041777n].map((mode) => of({ mode }).mode)).toEqual([0o644, 0o750, 0o777])
  })
})

describe('the rules of a folder', () => {
  const hashedFile = (path: string, content: string | Buffer): HashedFile => ({
    ...write(path, content),
    sha256: sha256(content),
  })
  const rulesIn = async (content: string | Buffer) => {
    const rules = await createFolderRulesReader().read(folder, [hashedFile('.holdfast.yml', content)])
    return rules?.[0]
  }
  const OPEN = { folder: '', forms: null, needs: null, problem: null }

  test.each([
    ['', OPEN],
    ['forms: [a, b]', { ...OPEN, forms: ['a', 'b'] }],
    ['needs: [roles/, x.yml]', { ...OPEN, needs: ['roles', 'x.yml'] }],
  ])('%j are read', async (content, rules) => {
    expect(await rulesIn(content)).toEqual(rules)
  })

  test('of 64 KiB are read, and longer ones are not', async () => {
    const of = (size: number) => rulesIn(Buffer.concat([Buffer.from('forms: [a]\n#'), Buffer.alloc(size - 12, 'x')]))
    expect(await of(64 * 1024)).toMatchObject({ forms: ['a'], problem: null })
    expect(await of(64 * 1024 + 1)).toEqual({ ...OPEN, problem: 'it is too large' })
  })

  test('are those of every folder; a file that changed meanwhile has the folder listed again', async () => {
    mkdirSync(join(folder, 'one'))
    const files = [hashedFile('one/.holdfast.yml', 'forms: [a]'), hashedFile('one/other.yml', 'forms: [b]')]
    const reader = createFolderRulesReader()
    expect(await reader.read(folder, files)).toEqual([{ ...OPEN, folder: 'one', forms: ['a'] }])
    // What is known is not read again.
    rmSync(join(folder, 'one'), { recursive: true })
    expect(await reader.read(folder, files)).toHaveLength(1)
    expect(await createFolderRulesReader().read(folder, files)).toBeNull()
    expect(await reader.read(folder, [])).toEqual([])
    expect(await reader.read(folder, files)).toBeNull()
  })
})
