import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Manifest, parseManifest } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { InvalidInputError } from '../../control-plane/src/errors.js'
import type { LeftOut } from '../../control-plane/src/runners/files/left-out.js'
import { createPlaybookFolder } from '../../control-plane/src/runners/files/playbook-folder.js'
import type { JobFileNeeds } from '../../control-plane/src/runners/files/playbook-part.js'

const MEGABYTE = 1024 * 1024
const UNHEARD = { note: () => undefined }

let base: string
let folder: string
/** What the last walk could not send. */
let reported: readonly LeftOut[]
/** Hours ahead, so that every file counts as settled. */
const clock = { now: () => Date.now() + 3_600_000 }

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'holdfast-playbooks-'))
  folder = join(base, 'playbooks')
  mkdirSync(folder)
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

function put(path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}

function open(maxBytes = 512 * MEGABYTE) {
  return createPlaybookFolder({ path: folder, maxBytes, clock, report: { note: (found) => (reported = found) } })
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

async function manifestOf(files = open()): Promise<Manifest> {
  return parseManifest((await files.manifest()).json.toString())
}

async function contentOf(blob: { content: AsyncIterable<Buffer> } | null): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of blob?.content ?? []) parts.push(part)
  return Buffer.concat(parts)
}

/** Modes that the umask of a test run does not decide. */
const MODES = [
  ['bin/tool', 0o4751],
  ['empty', 0o600],
  ['roles/web/tasks/main.yml', 0o644],
  ['site.yml', 0o440],
  ['bin', 0o2750],
  ['spool/empty', 0o1700],
] as const

describe('the manifest', () => {
  test('lists every file with hash, size and mode, every link, and every folder with its mode, sorted', async () => {
    put('site.yml', '- hosts: all\n')
    put('roles/web/tasks/main.yml', '[]')
    put('bin/tool', '#!/bin/sh\n')
    put('empty', '')
    mkdirSync(join(folder, 'spool/empty'), { recursive: true })
    // Bits that make a program run as its owner, or keep a folder for a group, do not travel.
    for (const [path, mode] of MODES) chmodSync(join(folder, path), mode)
    symlinkSync('../site.yml', join(folder, 'bin/site.yml'))
    symlinkSync('roles', join(folder, 'rolle'))
    expect(await manifestOf()).toEqual({
      version: 1,
      files: [
        { path: 'bin/tool', sha256: sha256('#!/bin/sh\n'), size: 10, mode: 0o751 },
        { path: 'empty', sha256: sha256(''), size: 0, mode: 0o600 },
        { path: 'roles/web/tasks/main.yml', sha256: sha256('[]'), size: 2, mode: 0o644 },
        { path: 'site.yml', sha256: sha256('- hosts: all\n'), size: 13, mode: 0o440 },
      ],
      links: [
        { path: 'bin/site.yml', target: '../site.yml' },
        { path: 'rolle', target: 'roles' },
      ],
      folders: [
        { path: 'bin', mode: 0o750 },
        { path: 'roles', mode: 0o755 },
        { path: 'roles/web', mode: 0o755 },
        { path: 'roles/web/tasks', mode: 0o755 },
        { path: 'spool', mode: 0o755 },
        { path: 'spool/empty', mode: 0o700 },
      ],
    })
  })

  test('has the same bytes for the same content, in whatever order and whenever it was written', async () => {
    for (const name of ['b.yml', 'a.yml', 'ä.yml', 'Z.yml', '_x.yml']) put(name, name)
    const first = await open().manifest()
    rmSync(folder, { recursive: true })
    for (const name of ['Z.yml', '_x.yml', 'ä.yml', 'a.yml', 'b.yml']) put(name, name)
    const second = await open().manifest()
    expect(second.json.equals(first.json)).toBe(true)
    expect(second.sha256).toBe(sha256(first.json))
  })

  test('leaves out version control, the folder and the file of a submodule', async () => {
    put('.git/config', 'secret')
    put('roles/web/.git', 'gitdir: ../..')
    put('.gitignore', '*.retry')
    expect((await manifestOf()).files.map((file) => file.path)).toEqual(['.gitignore'])
  })

  test('follows a change of one file, a new name, a new mode, and a removal', async () => {
    put('a.yml', 'one')
    put('b.yml', 'two')
    const files = open()
    const before = await manifestOf(files)
    put('a.yml', 'ONE')
    chmodSync(join(folder, 'b.yml'), 0o755)
    const after = await manifestOf(files)
    expect(after.files.map((file) => file.sha256)).toEqual([sha256('ONE'), sha256('two')])
    expect(after.files[1]?.mode).toBe(0o755)
    renameSync(join(folder, 'a.yml'), join(folder, 'c.yml'))
    rmSync(join(folder, 'b.yml'))
    expect((await manifestOf(files)).files.map((file) => file.path)).toEqual(['c.yml'])
    expect(before.files).toHaveLength(2)
  })

  test('of an empty folder is an empty list', async () => {
    expect(await manifestOf()).toEqual({ version: 1, files: [], links: [], folders: [] })
  })

  test('may be of a folder that is reached through a link', async () => {
    put('a.yml', 'one')
    symlinkSync(folder, join(base, 'link'))
    const files = createPlaybookFolder({ path: join(base, 'link'), maxBytes: MEGABYTE, clock, report: UNHEARD })
    expect((await manifestOf(files)).files).toHaveLength(1)
  })

  test('sees a change of the same size within the time step of the file system', async () => {
    put('a.yml', 'one')
    const { atime, mtime } = statSync(join(folder, 'a.yml'))
    // A clock as it is: the file has just changed, so its hash is not remembered.
    const own = { clock: { now: () => Date.now() }, report: UNHEARD }
    const files = createPlaybookFolder({ path: folder, maxBytes: MEGABYTE, ...own })
    await files.manifest()
    put('a.yml', 'two')
    utimesSync(join(folder, 'a.yml'), atime, mtime)
    expect((await manifestOf(files)).files[0]?.sha256).toBe(sha256('two'))
  })
})

describe('calls at the same time', () => {
  test('share the walk, and a call during a walk gets a later one', async () => {
    put('a.yml', 'one')
    const files = open()
    const first = files.manifest()
    const shared = files.manifest()
    // Let the walk begin, then change something: whoever asks now must see it.
    await Promise.resolve()
    await Promise.resolve()
    put('b.yml', 'two')
    const later = await Promise.all(Array.from({ length: 10 }, () => files.manifest()))
    for (const { json } of later) expect(parseManifest(json.toString()).files).toHaveLength(2)
    expect(new Set(later).size).toBe(1)
    expect(await shared).toBe(await first)
  })

  test('a failed walk fails the callers that asked for it, and not the next ones', async () => {
    put('big', Buffer.alloc(MEGABYTE + 1))
    const files = open(MEGABYTE)
    await expect(files.manifest()).rejects.toBeInstanceOf(InvalidInputError)
    rmSync(join(folder, 'big'))
    expect((await manifestOf(files)).files).toEqual([])
  })
})

/** What a job of a form needs that names these files, and runs this playbook. */
const needing = (files: string[] | null, playbook = 'site.yml', inventories: string[] = []): JobFileNeeds => ({
  form: 'any form',
  playbook,
  workingFolder: '',
  inventories,
  files,
})

/** Root may read everything. */
async function asUser<T>(task: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    return await task()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

describe('an entry that cannot travel', () => {
  const listen = (path: string) => {
    const server = createServer()
    return new Promise<void>((resolve) => server.listen(path, () => resolve())).then(() => server.unref())
  }
  const raw = (name: Buffer) => Buffer.concat([Buffer.from(`${folder}/`), name])

  test.each([
    ['an absolute link', 'odd', 'an absolute link', () => symlinkSync('/etc/passwd', join(folder, 'odd'))],
    ['a link that leaves the folder', 'odd', 'lead out of', () => symlinkSync('../secret', join(folder, 'odd'))],
    ['one that leaves it on a detour', 'odd', 'lead out', () => symlinkSync('roles/../../x', join(folder, 'odd'))],
    ['one that climbs behind a link', 'odd', 'lead out of', () => symlinkSync('here/../x', join(folder, 'odd'))],
    ['a named pipe', 'odd', 'a named pipe', () => execFileSync('mkfifo', [join(folder, 'odd')])],
    ['a socket', 'odd', 'a socket', () => listen(join(folder, 'odd'))],
    ['a backslash', 'a\\b.yml', 'backslash', () => put('a\\b.yml', '')],
    ['a line feed in a folder', 'a\nb', 'control character', () => put('a\nb/c.yml', '')],
    ['a name that is not UTF-8', '\uFFFD\uFFFD', 'not UTF-8', () => writeFileSync(raw(Buffer.from([0xff, 0xfe])), '')],
    [
      'a path that is too long',
      expect.any(String),
      'too long',
      () => put(`${`${'long'.repeat(50)}/`.repeat(17)}a.yml`, ''),
    ],
  ])('is left out and reported: %s', async (_name, path, reason, make: () => unknown) => {
    writeFileSync(join(base, 'secret'), 'secret')
    put('roles/x', '')
    put('site.yml', '')
    symlinkSync('.', join(folder, 'here'))
    await make()
    const files = open()
    const { json, leftOut } = await files.manifest(needing(null))
    const manifest = parseManifest(json.toString())
    expect(manifest.files.map((file) => file.path)).toEqual(['roles/x', 'site.yml'])
    expect(manifest.links).toEqual([{ path: 'here', target: '.' }])
    expect(leftOut).toEqual([{ path, reason: expect.stringContaining(reason) as string }])
    expect(reported).toEqual(leftOut)
    // It is no matter for a job that does not get that part of the folder.
    expect((await files.manifest(needing(['roles']))).leftOut).toEqual([])
  })

  test('is also a file or a folder that the control plane may not read', async () => {
    for (const path of ['site.yml', 'keys/root', 'closed/a.yml']) put(path, path)
    chmodSync(join(folder, 'keys/root'), 0o000)
    chmodSync(join(folder, 'closed'), 0o000)
    chmodSync(base, 0o755)
    const { json, leftOut } = await asUser(() => open().manifest(needing(null)))
    const manifest = parseManifest(json.toString())
    expect(manifest.files.map(({ path }) => path)).toEqual(['site.yml'])
    expect(manifest.folders.map(({ path }) => path)).toEqual(['keys'])
    expect(leftOut.map(({ path, reason }) => [path, reason])).toEqual([
      ['closed', expect.stringContaining('may not be read')],
      ['keys/root', expect.stringContaining('may not be read')],
    ])
  })

  test('stops the jobs that name it, or that come to it through a link, and no other', async () => {
    for (const path of ['site.yml', 'hosts', 'books/a.yml']) put(path, '')
    symlinkSync('/srv/tools', join(folder, 'tools'))
    symlinkSync('../tools/run.yml', join(folder, 'books/chained.yml'))
    execFileSync('mkfifo', [join(folder, 'books/pipe')])
    const files = open()
    const refused = (needs: JobFileNeeds) => expect(files.manifest(needs)).rejects
    await refused(needing(null, 'tools/run.yml')).toThrow(
      /needs tools\/run\.yml .*reached through tools, .*absolute link/,
    )
    await refused(needing([], 'books/chained.yml')).toThrow(/books\/chained\.yml .*through tools/)
    await refused(needing(null, 'site.yml', ['books/pipe'])).toThrow(/books\/pipe .*\(a named pipe\)/)
    await refused(needing(['tools'])).toBeInstanceOf(InvalidInputError)
    // A folder that is named goes without it.
    const { json, leftOut } = await files.manifest(needing(['books'], 'site.yml', ['hosts']))
    expect(parseManifest(json.toString()).files.map(({ path }) => path)).toEqual(['books/a.yml', 'hosts', 'site.yml'])
    expect(leftOut.map(({ path }) => path)).toEqual(['books/pipe'])
  })

  test('if it is a file of rules, it closes its folder: nobody knows who may get it', async () => {
    put('site.yml', '')
    put('finance/pay.yml', 'salaries')
    put('rules.yml', 'forms: [Payroll]\n')
    symlinkSync('../rules.yml', join(folder, 'finance/.holdfast.yml'))
    const files = open()
    const { json } = await files.manifest(needing(null))
    expect(json.toString()).not.toContain('finance')
    await expect(files.manifest(needing(null, 'finance/pay.yml'))).rejects.toThrow(
      /finance\/\.holdfast\.yml cannot be used/,
    )
  })
})

describe('the folder is refused', () => {
  test('with more bytes than the setting allows; links and version control do not count', async () => {
    put('big', Buffer.alloc(MEGABYTE))
    put('.git/pack', Buffer.alloc(5 * MEGABYTE))
    await open(MEGABYTE).manifest()
    put('one more', 'x')
    await expect(open(MEGABYTE).manifest()).rejects.toThrow(/more than 1 MB.*RTE_FILES_MAX_MB/)
  })

  test('when it is missing, or a file is in its place', async () => {
    rmSync(folder, { recursive: true })
    await expect(open().manifest()).rejects.toBeInstanceOf(InvalidInputError)
    writeFileSync(folder, '')
    await expect(open().manifest()).rejects.toThrow(/not a folder/)
  })
})

test('links inside the folder are fine, also broken ones and those to a parent inside', async () => {
  put('roles/web/x', '')
  symlinkSync('../..', join(folder, 'roles/web/top'))
  symlinkSync('nowhere', join(folder, 'broken'))
  lutimesSync(join(folder, 'broken'), 1, 1)
  expect((await manifestOf()).links.map((link) => link.path)).toEqual(['broken', 'roles/web/top'])
})

describe('opening a blob', () => {
  test('gives the manifest and every file, in pieces', async () => {
    const big = Buffer.alloc(700_000, 'abc')
    put('big', big)
    put('empty', '')
    const files = open()
    const { sha256: name, json } = await files.manifest()
    expect(await contentOf(await files.open(name, name))).toEqual(json)
    const blob = await files.open(name, sha256(big))
    expect(blob?.size).toBe(big.length)
    const parts: Buffer[] = []
    for await (const part of blob?.content ?? []) parts.push(part)
    expect(Buffer.concat(parts).equals(big)).toBe(true)
    expect(parts.every((part) => part.length <= 256 * 1024)).toBe(true)
    expect((await contentOf(await files.open(name, sha256('')))).length).toBe(0)
  })

  test.each([
    ['changed with another size', () => appendFileSync(join(folder, 'a.yml'), 'more')],
    ['changed with the same size', () => put('a.yml', 'two')],
    [
      'replaced',
      () => {
        put('new', 'one')
        renameSync(join(folder, 'new'), join(folder, 'a.yml'))
      },
    ],
    ['removed', () => rmSync(join(folder, 'a.yml'))],
    [
      'replaced by a link',
      () => {
        rmSync(join(folder, 'a.yml'))
        symlinkSync('/etc/passwd', join(folder, 'a.yml'))
      },
    ],
    [
      'replaced by a pipe',
      () => {
        rmSync(join(folder, 'a.yml'))
        execFileSync('mkfifo', [join(folder, 'a.yml')])
      },
    ],
  ])('gives nothing for a file that was %s', async (_name, change) => {
    put('a.yml', 'one')
    const files = open()
    const { sha256: name } = await files.manifest()
    change()
    expect(await files.open(name, sha256('one'))).toBeNull()
  })

  test('gives nothing for a hash or a manifest that it does not know', async () => {
    put('a.yml', 'one')
    const files = open()
    const { sha256: name } = await files.manifest()
    expect(await files.open(name, sha256('other'))).toBeNull()
    expect(await files.open(sha256('other'), sha256('one'))).toBeNull()
  })

  test('serves the last manifests, and no more than sixty-four', async () => {
    put('same.yml', 'same')
    const files = open()
    const names: string[] = []
    for (let version = 0; version < 65; version += 1) {
      put('a.yml', `version ${version}`)
      names.push((await files.manifest()).sha256)
    }
    const [first = '', second = ''] = names
    expect(await files.open(first, first)).toBeNull()
    expect((await contentOf(await files.open(second, sha256('same')))).toString()).toBe('same')
  })

  test('fails when the file becomes shorter while it is sent', async () => {
    put('big', Buffer.alloc(2 * MEGABYTE, 'x'))
    const files = open()
    const { sha256: name } = await files.manifest()
    const blob = await files.open(name, sha256(Buffer.alloc(2 * MEGABYTE, 'x')))
    const reading = blob?.content[Symbol.asyncIterator]()
    await reading?.next()
    truncateSync(join(folder, 'big'), 1000)
    const rest = async () => {
      for (;;) if ((await reading?.next())?.done) return
    }
    await expect(rest()).rejects.toThrow(/shorter/)
  })
})

test('an unchanged folder is not read again', async () => {
  for (let index = 0; index < 50; index += 1) put(`roles/r${index % 10}/tasks/t${index}.yml`, `task ${index}`)
  const files = open()
  await files.manifest()
  const crypto = await import('node:crypto')
  const spy = vi.spyOn(crypto.Hash.prototype, 'update')
  await files.manifest()
  // The manifest itself is hashed, and nothing else.
  expect(spy).toHaveBeenCalledTimes(1)
  spy.mockRestore()
})
