import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  CLOSE_REASONS,
  type Frame,
  HEARTBEAT_MS,
  MAX_CONTROL_BYTES,
  MAX_PAYLOAD_BYTES,
  MAX_SECRETS_BYTES,
  REFUSALS,
  SOCKET_PATH,
  SUBPROTOCOL,
  WINDOW_PER_JOB_BYTES,
  WINDOW_PER_SOCKET_BYTES,
  agentMessageSchema,
  encodeFrame,
  helloPayloadSchema,
  jobSecretsSchema,
  resumedJobSchema,
  serverMessageSchema,
  spooledJobSchema,
} from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { RUNNER_MOVES } from '../../../control-plane/src/runners/registration/admin/states.js'

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

test('every state of a runner is there with its moves', () => {
  const described = Object.fromEntries(
    rows(section('2. States')).flatMap(([state = '', , moves = '']) =>
      state.startsWith('`') ? [[state.replaceAll('`', ''), moves]] : [],
    ),
  )
  expect(Object.keys(described).sort()).toEqual(Object.keys(RUNNER_MOVES).sort())
  for (const [state, moves] of Object.entries(RUNNER_MOVES)) {
    for (const [move, next] of Object.entries(moves)) {
      expect(described[state]).toContain(move)
      expect(described[state]).toContain(next === 'gone' ? 'gone' : `\`${next}\``)
    }
  }
})

describe('the tables of the frames read what the code writes', () => {
  const payload = Buffer.from('payload')
  const sha256 = '0123456789abcdef'.repeat(4)
  const frames: [string, Frame, Record<string, number | string>][] = [
    [
      'Stream frame (agent to control plane)',
      { kind: 'stream', stream: 'events', final: true, epoch: 0x01020304, jobId: 77, offset: 2 ** 40 + 5, payload },
      { kind: 1, stream: 1, flags: 1, zero: 0, epoch: 0x01020304, 'job id': 77, 'byte offset': 2 ** 40 + 5 },
    ],
    [
      'Blob frame (control plane to agent)',
      { kind: 'blob', sha256, offset: 2 ** 33, size: 2 ** 41, payload },
      { kind: 2, zero: 0, 'SHA-256': sha256, 'byte offset': 2 ** 33, size: 2 ** 41 },
    ],
  ]

  test.each(frames)('%s', (heading, frame, values) => {
    const bytes = encodeFrame(frame)
    const table = rows(section(heading)).filter(([offset = '']) => /^\d+$/.test(offset))
    const read: Record<string, number | string> = {}
    let end = 0
    for (const [offset = '', length = '', field = ''] of table) {
      // The fields follow one another without a gap.
      expect(Number(offset)).toBe(end)
      const part = bytes.subarray(end, length === '' ? undefined : end + Number(length))
      end += Number(length)
      if (field === 'payload') expect(part).toEqual(payload)
      else read[field] = Number(length) > 8 ? part.toString('hex') : Number(BigInt(`0x${part.toString('hex')}`))
    }
    expect(read).toEqual(values)
  })
})

test('every part of sealed secrets is there, and no other', () => {
  const described = namedFields(section('8. Sealed secrets'))
  expect(described).toEqual(Object.keys(jobSecretsSchema.entries))
  expect(section('8. Sealed secrets')).toContain(`at most ${MAX_SECRETS_BYTES / 1024} KiB`)
})

test('the numbers are those of the contract', () => {
  expect(text).toContain(`\`${SOCKET_PATH}\``)
  expect(text).toContain(`\`${SUBPROTOCOL}\``)
  expect(text).toContain(`at most ${MAX_PAYLOAD_BYTES / 1024} KiB of payload`)
  expect(text).toContain(`at most ${MAX_CONTROL_BYTES / 1024 / 1024} MiB`)
  expect(text).toContain(
    `${WINDOW_PER_JOB_BYTES / 1024 / 1024} MiB of one job and ${WINDOW_PER_SOCKET_BYTES / 1024 / 1024} MiB`,
  )
  expect(text).toContain(`Every ${HEARTBEAT_MS / 1000} seconds`)
})
