import { expect, test } from 'vitest'
import { diskFinding } from '../../control-plane/src/check/folders.js'

test('a disk with less than 1 GiB free is doubtful, and a full one is a problem', () => {
  const sizes = [0, 1, 2 ** 30 - 1, 2 ** 30, 2 ** 40]
  expect(sizes.map((size) => diskFinding('/data', size)).map(({ state, words }) => `${state} ${words}`)).toEqual([
    'problem full',
    'warning 0 MiB free',
    'warning 1023 MiB free',
    'ok 1024 MiB free',
    'ok 1048576 MiB free',
  ])
  expect(diskFinding('/data', 0).advice).toBe('make room below /data')
})
