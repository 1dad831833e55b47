import type { JobRecord } from '@holdfast/client'
import { expect, test } from 'vitest'
import { createJsonSink } from '../../../control-plane/src/cli/follow/json-sink.js'
import type { Output } from '../../../control-plane/src/cli/terminal.js'

const JOB = { id: 7, status: 'running', approval: null } as unknown as JobRecord
const RED = Buffer.from('\u001b[31mréd\u001b[0m')

/** What a program reads of a job that is followed: lines of stdout, and texts of stderr. */
function program({ isTerminal = false, color = false } = {}) {
  const [read, said] = [[] as string[], [] as string[]]
  const to = (lines: string[]): Output => ({
    isTerminal,
    color: false,
    columns: 80,
    write: (data) => Promise.resolve(void lines.push(String(data))),
  })
  const sink = createJsonSink({ environment: {}, stdin: process.stdin, stdout: to(read), stderr: to(said) }, color)
  return { sink, read, said, objects: () => read.map((line) => JSON.parse(line) as unknown) }
}

test('a program reads one object a line: the status, the output with its place, and the end', async () => {
  const { sink, read, objects } = program()
  const approval = { state: 'approved' }
  await sink.status(JOB)
  await sink.status({ ...JOB, status: 'approve', approval } as unknown as JobRecord)
  await sink.output(Buffer.from('one\n'), 0)
  await sink.end(JOB)
  expect(read.every((line) => line.endsWith('}\n'))).toBe(true)
  expect(objects()).toEqual([
    { type: 'status', id: 7, status: 'running' },
    { type: 'status', id: 7, status: 'approve', approval },
    { type: 'output', offset: 0, text: 'one\n' },
    { type: 'end', job: JOB },
  ])
})

test.each([
  [true, '\u001b[31mréd\u001b[0m'],
  [false, 'réd'],
])(
  'a piece that ends inside of a character or a colour is told when it is whole; colours stay: %s',
  async (color, text) => {
    const { sink, objects } = program({ color })
    for (let at = 0; at < RED.length; at += 1) await sink.output(RED.subarray(at, at + 1), at)
    await sink.end(JOB)
    const texts = objects().map((one) => (one as { text?: string }).text)
    // Nothing is told of a piece that gives no text yet.
    expect(texts).not.toContain('')
    expect(texts.join('')).toBe(text)
  },
)

test.each([true, false])('what was kept back comes before the end, without a place: %s', async (color) => {
  const { sink, objects } = program({ color })
  await sink.output(Buffer.from([0xc3]), 0)
  await sink.end(JOB)
  expect(objects()).toEqual([
    { type: 'output', offset: null, text: '\ufffd' },
    { type: 'end', job: JOB },
  ])
})

test('a terminal gets no control characters, and a program gets the bytes as they are', async () => {
  for (const isTerminal of [true, false]) {
    const { sink, read, objects } = program({ isTerminal, color: true })
    await sink.output(Buffer.from('a\u009bb'), 0)
    expect(read.join('').includes('\u009b')).toBe(!isTerminal)
    expect(objects()).toEqual([{ type: 'output', offset: 0, text: 'a\u009bb' }])
  }
})

test('the state of the connection is no part of the result', async () => {
  const { sink, read, said } = program()
  await sink.connectionLost(new Error('away\u001b[2J'))
  await sink.connectionBack()
  expect(said).toEqual([expect.stringContaining('Connection lost, trying again every 3 s: away'), 'Connected again.\n'])
  expect(said.join('')).not.toContain('\u001b')
  expect(read).toEqual([])
})
