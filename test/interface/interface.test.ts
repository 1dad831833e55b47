import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/product.js'
import { RULES } from './rules.js'

/** The ids in the statements `covers('…')` of a text. */
function idsIn(text: string): string[] {
  const statements = [...text.matchAll(/\bcovers\(([^()]*)\)/g)].map(([, ids = '']) => ids)
  return statements.flatMap((ids) => [...ids.matchAll(/'([^']+)'/g)].map(([, id = '']) => id))
}

// The whole run also looks whether these tests passed (`reporter.ts`). This test says it in a run of this folder.
test('each rule of the interface is named by a test', () => {
  const folder = join(ROOT, 'test')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts'))
  const named = new Set(files.flatMap((file) => idsIn(readFileSync(join(folder, file), 'utf8'))))
  expect(Object.keys(RULES).filter((id) => !named.has(id))).toEqual([])
})
