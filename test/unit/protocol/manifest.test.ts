import { expect, test } from 'vitest'
import { ProtocolError, isSafeLink, isSafeRelativePath, parseManifest, plainPlaybookPath } from '@holdfast/protocol'

const HASH = 'a'.repeat(64)
const file = (path: string) => ({ path, sha256: HASH, size: 1, mode: 0o644 })
const textOf = (files: readonly object[], links: readonly object[], folders: readonly object[] = []) =>
  JSON.stringify({ version: 1, files, links, folders })

test('files, and links to what is beside them, are taken', () => {
  const links = [
    { path: 'roles/web/current', target: 'files' },
    { path: 'site', target: 'site.yml' },
  ]
  const files = [file('site.yml'), file('roles/web/files/a')]
  expect(parseManifest(textOf(files, links)).links).toEqual(links)
})

test.each([
  ['a file below a link', [file('roles/web/a')], [{ path: 'roles/web', target: '../other' }], 'lies below a link'],
  ['a file far below a link', [file('a/b/c/d')], [{ path: 'a', target: 'b' }], 'lies below a link'],
  [
    'a link below a link',
    [],
    [
      { path: 'a', target: 'b' },
      { path: 'a/c', target: 'd' },
    ],
    'lies below a link',
  ],
  ['a file that is a link, too', [file('a')], [{ path: 'a', target: 'b' }], 'double path'],
  ['a path that leaves the folder', [file('../a')], [], 'unsafe path'],
  ['a link that leaves the folder', [], [{ path: 'a/b', target: '../../c' }], 'unsafe link'],
  ['a file below a file', [file('a'), file('a/b')], [], 'lies below a file'],
  ['a folder that leaves the folder', [], [], 'unsafe path', ['../a']],
  ['a folder below a link', [], [{ path: 'a', target: '.' }], 'lies below a link', ['a/b']],
  ['a folder that is a link, too', [], [{ path: 'a', target: '.' }], 'double path', ['a']],
  ['a folder that is a file, too', [file('a')], [], 'double path', ['a']],
  ['a folder below a file', [file('a')], [], 'lies below a file', ['a/b']],
])('%s is refused', (_, files, links, problem, folders: string[] = []) => {
  const withModes = folders.map((path) => ({ path, mode: 0o755 }))
  expect(() => parseManifest(textOf(files, links, withModes))).toThrow(problem)
})

test.each([
  ['a', true],
  ['a/b.c', true],
  ['..a/b..', true],
  ['', false],
  ['/a', false],
  ['a/', false],
  ['a//b', false],
  ['./a', false],
  ['a/./b', false],
  ['a/../b', false],
  ['..', false],
  ['a\0b', false],
  ['a\\b', false],
  ['a\nb', false],
  ['a\x7fb', false],
  ['a\ud800', false],
  ['größe ✨ -x', true],
])('the path %j stays below its folder: %s', (path, isSafe) => {
  expect(isSafeRelativePath(path)).toBe(isSafe)
})

test.each([
  ['a', 'b', true],
  ['a', 'b/c', true],
  ['a', './b//c', true],
  ['d/a', '../b', true],
  ['d/e/a', '../../b', true],
  ['d/a', '..', true],
  ['d/a', '.', true],
  ['a', '..', false],
  ['a', '../b', false],
  ['d/a', '../../b', false],
  ['d/e/a', '../b/../c', false],
  ['d/a', 'b/..', false],
  ['a', '/b', false],
  ['a', '', false],
  ['a', 'b\0', false],
  ['a', 'b\n', false],
  ['../a', 'b', false],
])('a link at %j to %j stays inside: %s', (path, target, isSafe) => {
  expect(isSafeLink(path, target)).toBe(isSafe)
})

test.each([
  ['./site.yml', 'site.yml'],
  ['././roles/', 'roles'],
  ['a/b//', 'a/b'],
  ['../a', null],
  ['/a', null],
  ['./', null],
])('people may write %j for %j', (path, plain) => {
  expect(plainPlaybookPath(path)).toBe(plain)
})

test.each([
  ['no list of links', { version: 1, files: [], folders: [] }],
  ['another version', { version: 2, files: [], links: [], folders: [] }],
  ['a file without a path', { version: 1, files: [{ ...file('a'), path: '' }], links: [], folders: [] }],
  ['a path that is too long', { version: 1, files: [file('a'.repeat(4097))], links: [], folders: [] }],
  ['a negative size', { version: 1, files: [{ ...file('a'), size: -1 }], links: [], folders: [] }],
  ['a set-user-id bit', { version: 1, files: [{ ...file('a'), mode: 0o4755 }], links: [], folders: [] }],
  ['no list of folders', { version: 1, files: [], links: [] }],
])('a manifest with %s is refused', (_what, manifest) => {
  expect(() => parseManifest(JSON.stringify(manifest))).toThrow(ProtocolError)
})
