import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  agentMessageSchema,
  CLOSE_REASONS,
  helloPayloadSchema,
  jobSecretsSchema,
  REFUSALS,
  resumedJobSchema,
  serverMessageSchema,
  spooledJobSchema,
} from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'

/** docs/protocol.md is written by hand; these tests keep it beside the code. */
const text = readFileSync(resolve(import.meta.dirname, '../../../docs/protocol.md'), 'utf8')

/** The text below a heading, up to the next heading of its rank or above. */
function section(heading: string): string {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading)
  if (start < 0) throw new Error(`docs/protocol.md has no section ${heading}`)
  const rank = /^#+/.exec(lines[start] ?? '')?.[0].length ?? 0
  const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line) && line.indexOf(' ') <= rank)
  return lines.slice(start + 1, length < 0 ? undefined : start + 1 + length).join('\n')
}

/** Rows of the tables of a section as arrays of cells. */
function rows(of: string): string[][] {
  const cells = of.split('\n').flatMap((line) =>
    line.startsWith('| ')
      ? [
          line
            .split('|')
            .map((cell) => cell.trim())
            .slice(1, -1),
        ]
      : [],
  )
  return cells
}

/** Everything in backticks in the first cells of a section's tables. */
function namedFields(of: string): string[] {
  return rows(of).flatMap(([first = '']) => [...first.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ''))
}

const directions = [
  ['3. Messages of the agent', agentMessageSchema],
  ['4. Messages of the control plane', serverMessageSchema],
] as const

describe.each(directions)('%s', (heading, schema) => {
  const messages = schema.options.map((option) => ({ type: option.entries.type.literal, entries: option.entries }))

  test('every message has its section, and no other is described', () => {
    const described = [...section(heading).matchAll(/^### `(\w+)`$/gm)].map((match) => match[1])
    expect(described.sort()).toEqual(messages.map((message) => message.type).sort())
  })

  test.each(messages)('every field of $type is described, and no other', ({ type, entries }) => {
    const fields = Object.keys(entries).filter((field) => field !== 'type')
    const payload = type === 'hello' ? Object.keys(helloPayloadSchema.entries) : []
    expect(namedFields(section(`\`${type}\``)).sort()).toEqual([...fields, ...payload].sort())
  })
})

test('the parts of inventory, resume and refused are named', () => {
  for (const field of Object.keys(spooledJobSchema.entries)) expect(section('`inventory`')).toContain(`\`${field}\``)
  for (const field of Object.keys(resumedJobSchema.entries)) expect(section('`resume`')).toContain(`\`${field}\``)
  for (const verdict of resumedJobSchema.entries.verdict.options)
    expect(section('`resume`')).toContain(`\`${verdict}\``)
  for (const code of REFUSALS) expect(section('`refused`')).toContain(`\`${code}\``)
})

test('every close reason is there with its code and whether to try again, and no other', () => {
  const described = rows(section('7. Close reasons')).flatMap(([name = '', code, retry]) =>
    name.startsWith('`') ? [[name.replaceAll('`', ''), Number(code), retry === 'yes']] : [],
  )
  const known = Object.entries(CLOSE_REASONS).map(([name, { code, retry }]) => [name, code, retry])
  expect(described).toEqual(known)
})

test('every part of sealed secrets is there, and no other', () => {
  const described = namedFields(section('8. Sealed secrets'))
  expect(described).toEqual(Object.keys(jobSecretsSchema.entries))
})
