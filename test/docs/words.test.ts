import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/product.js'

/** Words that must not stand anywhere, and what stands in their place (the glossary of docs/architecture.md). */
const BANNED: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bthe app\b/i, 'the control plane'],
  [/\bapp nodes?\b/i, 'node, or control plane'],
  [/(?<![\w`-])RTEs?(?![\w-])/, 'runner, or runner agent'],
  [/\b(?:an abort of|pauses|aborts) the whole\b(?! \w)/i, 'the parent job'],
  [/\bthe whole (?:then|ends|waits|goes on|fails|is (?:rejected|aborted))\b/i, 'the parent job'],
  [/\bjobs? that consists? of others\b/i, 'parent job'],
  [/\bparts? of (?:another|other) jobs?\b/i, 'child job'],
  [/\b(?:makings|surroundings|the shelf)\b/i, 'a usual word: jobs, context or environment, cache'],
  [/nobody's business/i, 'what happens, in words'],
  // A comment must not send its reader to a document that is not here.
  [/\bspec (?:\w+\.md|section)|\breference \w+\.md|\bdecisions,? section/i, 'what that document says, in words'],
  [/\bissue #?\d|\(service interface,/i, 'what is meant, in words'],
]

/**
 * What is not read: what is generated from packages, what is not ours, and pictures. This list says the words itself.
 * Everything else is read: sources with their help texts, messages and comments,
 * documents, dashboards, scripts, and also tests, because people read their names.
 */
const NOT_READ =
  /(^|\/)(\.git|node_modules|dist|bundle|bundle\.new|coverage|\.venv|__pycache__|package-lock\.json)$|\.png$|^test\/docs\/words/

test('no text says what the glossary has another word for', () => {
  const files = filesBelow('')
  expect(files.length).toBeGreaterThan(500)
  expect(files.flatMap(findingsIn)).toEqual([])
})

test('the glossary explains each word once', () => {
  const text = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
  const glossary = text.slice(text.indexOf('## Glossary'), text.indexOf('## 1.'))
  const words = [...glossary.matchAll(/^\| ([^|]+?) +\|/gm)].flatMap(([, cell = '']) => cell.split(', ')).slice(1)
  expect(words.length).toBeGreaterThan(20)
  expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([])
})

test.each([
  ['the App sends it', 0],
  ['Waiting for RTE web-1', 2],
  ['(spec runner.md section 2)', 9],
  ['jobs that consist of others', 5],
])('a text such as "%s" is refused', (text, rule) => {
  expect(BANNED.findIndex(([pattern]) => pattern.test(text))).toBe(rule)
})

test.each(['RTE_MAX_JOBS', 'the application', 'the whole output', '`RTE_…` settings'])('"%s" is not', (text) => {
  expect(BANNED.filter(([pattern]) => pattern.test(text))).toEqual([])
})

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (NOT_READ.test(path)) return []
    if (entry.isDirectory()) return filesBelow(path)
    return entry.isFile() ? [path] : []
  })
}

function findingsIn(file: string): string[] {
  const lines = readFileSync(join(ROOT, file), 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    // The glossary says what a thing is not called.
    const text = line.replace(/Not: [^|]*/, '')
    return BANNED.flatMap(([pattern, instead]) => {
      const found = pattern.exec(text)
      return found ? [`${file}:${index + 1}: "${found[0]}": say ${instead}`] : []
    })
  })
}
