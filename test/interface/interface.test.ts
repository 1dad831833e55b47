import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../support/product.js'
import { DOCUMENT_PATH, documentOf } from './document.js'
import { reasonsOfNotBuilt } from './not-built.js'
import { allRules } from './rule-book.js'
import { statementsIn, statementsOf } from './statements.js'
import { type ShowingTest, judge } from './verdict.js'

describe('the rules of the interface', () => {
  const statements = statementsOf(join(ROOT, 'test'))

  test('each is shown by a test or openly not built', () => {
    const tests = statements.map((statement) => ({ ...statement, passed: true }))
    expect(judge(allRules(), new Set(reasonsOfNotBuilt().keys()), tests)).toEqual([])
  })

  test('and the tests that show them stand in the document; npm run interface-coverage writes it', () => {
    expect(readFileSync(join(ROOT, DOCUMENT_PATH), 'utf8')).toBe(documentOf(statements))
  })
})

describe('the verdict', () => {
  const [rules, notBuilt] = [new Set(['a', 'b']), new Set(['b'])]
  const showing = (changes: Partial<ShowingTest>): ShowingTest => ({
    file: 'f.test.ts',
    name: 'n',
    covers: ['a'],
    passed: true,
    ...changes,
  })

  test('is good when every rule is shown or not built', () => {
    expect(judge(rules, notBuilt, [showing({})])).toEqual([])
  })

  test.each<[string, ShowingTest[], RegExp]>([
    ['a rule without a test', [], /^'a' is shown by no test that passed$/],
    ['a rule whose only test did not pass', [showing({ passed: false })], /^'a' is shown by no test/],
    ['a test of a rule that there is not', [showing({ covers: ['a', 'c'] })], /^f\.test\.ts: 'n' names 'c'/],
    ['a rule that is built after all', [showing({ covers: ['a', 'b'] })], /^'b' is listed as not built, but/],
  ])('finds %s', (_what, tests, problem) => {
    expect(judge(rules, notBuilt, tests)).toEqual([expect.stringMatching(problem)])
  })

  test('finds what is listed as not built and is no rule', () => {
    expect(judge(rules, new Set(['b', 'z']), [showing({})])).toEqual(["'z' is listed as not built, and is no rule"])
  })
})

describe('statements in the text of a test', () => {
  test('have the titles of their groups and of their table of cases', () => {
    const text = `describe('outer', () => {
      test.each([1, 2])('case %i', async () => {
        covers('x.one', 'x.two')
      })
      it('plain', () => covers('x.three'))
    })`
    expect(statementsIn('f.test.ts', text)).toEqual([
      { file: 'f.test.ts', name: 'outer > case %i', covers: ['x.one', 'x.two'] },
      { file: 'f.test.ts', name: 'outer > plain', covers: ['x.three'] },
    ])
  })

  test.each([
    ['outside of a test', `covers('x.one')`],
    ['with an id that only a run would know', `test('t', () => covers(id))`],
  ])('%s are refused', (_what, text) => {
    expect(() => statementsIn('f.test.ts', text)).toThrow(/^f\.test\.ts: covers\(\)/)
  })
})
