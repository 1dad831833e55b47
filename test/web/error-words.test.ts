import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { errorWords } from '../../control-plane/web/src/words/en-errors.js'

const SOURCES = 'control-plane/src'

/** These parts answer no page: they are for the command line, or end the program. */
const NO_PAGE =
  /^(cli|backup|store\/(migrations|open-|sqlite\/sqlite-(copy|hold)|postgres\/postgres-copy)|auth\/accounts\/reset-)/

/** Codes that only an address that somebody writes by hand can lead to. */
const BY_HAND = /^invalid_(?!input$|username$|group$|q$|json$|path$|request$|secret$)/

/** The codes with which the service answers, as its sources name them. */
function codesOfService(): string[] {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  const found = files
    .filter((file) => file.endsWith('.ts') && !NO_PAGE.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(SOURCES, file), 'utf8')
      const thrown = [
        ...text.matchAll(
          /new (?:InvalidInput|Unauthenticated|Forbidden|NotFound|Conflict|RefusedValues|TooLarge|TooMany|Unavailable)Error\(\s*(?:\w+ \? )?'([a-z_]+)'(?: : '([a-z_]+)')?/g,
        ),
        ...text.matchAll(/super\(\s*'([a-z_]+)'/g),
      ]
      // Errors that the server makes of those of the framework and of Node.js.
      const made = file.startsWith('http/server/') ? [...text.matchAll(/code: '([a-z_]+)'/g)] : []
      return [...thrown, ...made].flatMap(([, ...codes]) => codes.filter(Boolean))
    })
  return [...new Set(found)].filter((code) => !BY_HAND.test(code)).toSorted()
}

test('every code of the service has words of its own for people', () => {
  const codes = codesOfService()
  expect(codes.length).toBeGreaterThan(100)
  expect(codes.filter((code) => errorWords[code] === undefined)).toEqual([])
})

test('no words are left of a code that is gone', () => {
  const codes = new Set(codesOfService())
  expect(Object.keys(errorWords).filter((code) => !codes.has(code))).toEqual([])
})

test('words name the entries that they are about, and are whole without details', () => {
  const wordsOf = (code: string, details: Record<string, unknown>) => {
    const words = errorWords[code]
    return typeof words === 'function' ? words(details) : words
  }
  expect(wordsOf('values_refused', { missing: ['host'], invalid: ['port', 'host'] })).toMatch(/: host, port\.$/)
  expect(wordsOf('uploads_refused', { uploads: [{ field: 'cert', message: 'it is gone' }] })).toMatch(/: cert\.$/)
  expect(wordsOf('invalid_input', { fields: [{ path: '/username', message: 'too long' }] })).toMatch(/: username\.$/)
  const subject = { manifest_sha256: 'a', form_sha256: 'b' }
  expect(wordsOf('changed_since_asked', { asked: subject, now: { ...subject, form_sha256: 'c' } })).toMatch(
    /: the form\.$/,
  )
  for (const code of Object.keys(errorWords)) expect(wordsOf(code, {})).toMatch(/^[A-Z].*[.?]$/)
})
