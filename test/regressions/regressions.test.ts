import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/product.js'
import { readRegressions } from './regression.js'

const regressions = readRegressions(join(ROOT, 'test/regressions'))

test('there are forty regressions, and at most three of them are found by no test', () => {
  expect(regressions).toHaveLength(40)
  expect(regressions.filter(({ foundBy }) => foundBy.length === 0).length).toBeLessThanOrEqual(3)
})

test.each(regressions)('the patch of $name applies to the present sources', ({ path }) => {
  const { stderr, status } = spawnSync('git', ['apply', '--check', path], { cwd: ROOT, encoding: 'utf8' })
  expect(`${stderr}${String(status)}`).toBe('0')
})

test.each(regressions)('the room and the tests of $name exist', ({ room, foundBy }) => {
  expect([room, ...foundBy].filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  expect(foundBy.filter((path) => !/^test\/.+\.test\.ts$/.test(path))).toEqual([])
})
