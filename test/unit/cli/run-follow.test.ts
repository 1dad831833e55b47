import type { Client } from '@holdfast/client'
import { describe, expect, test } from 'vitest'
import { StrangeAnswerError, UnreachableError } from '../../../control-plane/src/cli/errors.js'
import { fetchJob, readOutputPiece } from '../../../control-plane/src/cli/follow/job-reader.js'
import { printBody } from '../../../control-plane/src/cli/follow/print-body.js'
import { type FollowOptions, runFollow } from '../../../control-plane/src/cli/follow/run-follow.js'
import { waitFor } from '../../support/wait.js'
import { jobAtService, keptTerminal } from './job-at-service.js'

const RED = '\u001b[31mred\u001b[0m\n'
const PLAIN: FollowOptions = { json: false, color: undefined, wait: false }

/** Waits until the status was told, and live events are heard. */
const isFollowed = (service: ReturnType<typeof jobAtService>['service']) =>
  waitFor('the job to be followed', () => service.openStreams() === 1 && service.asked.length > 1)

/** Follows a job that has ended, and gives back what stdout shows. */
async function shownOf(options: Partial<FollowOptions>, color = false): Promise<string> {
  const { service, client } = jobAtService({ status: 'success' })
  service.output = RED
  const { terminal, shown } = keptTerminal({ color })
  expect(await runFollow(client, terminal, 7, { ...PLAIN, ...options })).toBe(0)
  return shown()
}

describe('following in a terminal', () => {
  test('keeps the colours of the output where stdout takes colours, or the option says so', async () => {
    expect(await shownOf({}, true)).toBe(RED)
    expect(await shownOf({}, false)).toBe('red\n')
    expect(await shownOf({ color: true }, false)).toBe(RED)
    expect(await shownOf({ color: false }, true)).toBe('red\n')
  })

  test('tells programs of no colours, except when the option says so', async () => {
    const textOf = (lines: string) =>
      lines
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { text?: string }).text)
    expect(textOf(await shownOf({ json: true }, true))).toEqual([undefined, 'red\n', undefined])
    expect(textOf(await shownOf({ json: true, color: true }, false))).toEqual([undefined, RED, undefined])
  })

  test.each([
    ['success', 0],
    ['failed', 10],
    ['abandoned', 14],
  ])('a job that ended %s is told, and gives the exit code %i', async (status, code) => {
    const { client } = jobAtService({ status })
    const { terminal, said } = keptTerminal()
    const before = process.listeners('SIGINT')
    expect(await runFollow(client, terminal, 7, PLAIN)).toBe(code)
    expect(said()).toContain(`Job 7 ended ${status} after 5.00 s\n`)
    expect(process.listeners('SIGINT')).toEqual(before)
  })

  test.each([
    [
      'running',
      'Stopped following; job 7 goes on. Follow it again with: holdfast job follow 7   End it with: holdfast job abort 7',
    ],
    [
      'approve',
      'Stopped following; job 7 still waits for its approval. Follow it again with: holdfast job follow 7   ' +
        'End it with: holdfast job reject 7',
    ],
    [
      'abandoned',
      'Stopped following; job 7 goes on. Follow it again with: holdfast job follow 7   ' +
        'End it with: holdfast job abort 7 --abandoned',
    ],
  ])('Ctrl-C says what a job goes on with that is %s, and is heard once', async (status, words) => {
    const { service, client } = jobAtService({ status })
    const { terminal } = keptTerminal()
    const before = process.listeners('SIGINT')
    const following = runFollow(client, terminal, 7, { ...PLAIN, wait: true })
    await isFollowed(service)
    const [interrupt, ...others] = process.listeners('SIGINT').filter((one) => !before.includes(one))
    expect(others).toEqual([])
    interrupt?.('SIGINT')
    await expect(following).rejects.toMatchObject({ name: 'InterruptedError', message: words })
    expect(process.listeners('SIGINT')).toEqual(before)
  })

  test('with --wait, a job that was given up is followed until its real outcome', async () => {
    const { service, client } = jobAtService({ status: 'abandoned' })
    const { terminal, said } = keptTerminal()
    const following = runFollow(client, terminal, 7, { ...PLAIN, wait: true })
    await isFollowed(service)
    service.change({ status: 'warning' })
    expect(await following).toBe(11)
    expect(said()).toBe(
      'Job 7 was given up. Waiting for its real outcome; Ctrl-C stops waiting.\nJob 7 ended warning after 5.00 s\n',
    )
  })
})

describe('the body of an answer', () => {
  const body = (...pieces: readonly (string | Error)[]) =>
    (async function* () {
      for (const piece of pieces) {
        if (piece instanceof Error) throw piece
        yield Buffer.from(piece)
      }
    })()

  test('is printed as it is into a pipe', async () => {
    const { terminal, shown } = keptTerminal()
    await printBody(body('one\u001b[2J', '\u001b[31mtwo'), terminal, 'http://a')
    expect(shown()).toBe('one\u001b[2J\u001b[31mtwo')
    await printBody(null, terminal, 'http://a')
    expect(shown()).toBe('one\u001b[2J\u001b[31mtwo')
  })

  test('is printed at a terminal without commands, and a colour that nobody ended ends', async () => {
    const at = keptTerminal({ isTerminal: true, color: true })
    await printBody(body('one\u001b[2J', '\u001b[31mtwo'), at.terminal, 'http://a')
    expect(at.shown()).toBe('one\u001b[31mtwo\u001b[0m')
    const without = keptTerminal({ isTerminal: true })
    await printBody(body('\u001b[31mtwo'), without.terminal, 'http://a')
    expect(without.shown()).toBe('two')
  })

  test('that breaks in the middle ends with the words for a lost connection', async () => {
    const { terminal, shown } = keptTerminal()
    const printing = printBody(body('one', new TypeError('terminated')), terminal, 'http://a')
    await expect(printing).rejects.toThrow(UnreachableError)
    expect(shown()).toBe('one')
  })

  test('whose reader fails ends with that failure', async () => {
    const full = new Error('no space left on device')
    const { terminal } = keptTerminal()
    const stdout = { ...terminal.stdout, write: () => Promise.reject(full) }
    await expect(printBody(body('one'), { ...terminal, stdout }, 'http://a')).rejects.toBe(full)
  })
})

describe('a piece of output', () => {
  const answering = (response: Response) =>
    ({ server: 'http://a', getJobOutput: () => Promise.resolve(response) }) as unknown as Client
  const never = new AbortController().signal
  const piece = (next: string | null) =>
    answering(new Response('four', { headers: next === null ? {} : { 'x-next-offset': next } }))
  const broken = () =>
    answering(new Response(new ReadableStream({ start: (stream) => stream.error(new TypeError('terminated')) })))

  test('says where the next one begins, and of which run it is', async () => {
    const headers = { 'x-next-offset': '14', 'x-run-id': 'r' }
    const read = await readOutputPiece(answering(new Response('four', { headers })), 7, 10, never)
    expect({ ...read, bytes: Buffer.from(read.bytes).toString() }).toEqual({
      bytes: 'four',
      nextOffset: 14,
      runId: 'r',
    })
    expect(await readOutputPiece(piece('4'), 7, 0, never)).toMatchObject({ nextOffset: 4, runId: null })
  })

  test.each(['13', '15', null])('with a length that is not what the server says (%s) is refused', async (next) => {
    await expect(readOutputPiece(piece(next), 7, 10, never)).rejects.toThrow(StrangeAnswerError)
  })

  test('that breaks off is a lost connection, except when the reader has stopped', async () => {
    await expect(readOutputPiece(broken(), 7, 0, never)).rejects.toThrow(UnreachableError)
    await expect(readOutputPiece(broken(), 7, 0, AbortSignal.abort())).rejects.toThrow(TypeError)
  })

  test('is not asked for where a job is read: its output may be large', async () => {
    const { service, client } = jobAtService()
    expect(await fetchJob(client, 7)).toMatchObject({ id: 7 })
    expect(service.asked).toEqual([{ id: 7, text: true, output: false }])
  })
})
