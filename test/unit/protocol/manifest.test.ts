import { expect, test } from 'vitest'
import { parseManifest } from '@holdfast/protocol'

const HASH = 'a'.repeat(64)
const file = (path: string) => ({ path, sha256: HASH, size: 1, executable: false })
const textOf = (files: readonly object[], links: readonly object[]) => JSON.stringify({ version: 1, files, links })

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
])('%s is refused', (_, files, links, problem) => {
  expect(() => parseManifest(textOf(files, links))).toThrow(problem)
})
