import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, it, onTestFinished } from 'vitest'
import { agentFolder, python } from './job-folder.js'

const DRIVER = `
import json, os, sys
sys.path.insert(0, sys.argv[1])
from holdfast_job.event_relay import EventRelay
reader, writer = os.pipe()
os.set_blocking(reader, False)
relay = EventRelay(reader, sys.argv[2] + "/events.jsonl", sys.argv[2] + "/callback.json")
for piece in json.load(sys.stdin):
    data = piece.encode("latin-1")
    while data:
        data = data[os.write(writer, data[:60000]):]
        while relay.take():
            pass
relay.finish()
`

/** Half of the events come, the relay is killed at one of them, and another one goes on with the rest. */
const KILLED = `
import os, sys
sys.path.insert(0, sys.argv[1])
from holdfast_job import event_file, event_relay
from holdfast_job.board import Board
from holdfast_job.handover import Handover
folder, at, when = sys.argv[2], int(sys.argv[3]), sys.argv[4]
class Job: board, spare_pipes = Board(), [os.pipe(), os.pipe()]
reader, writer = os.pipe()
os.set_blocking(reader, False)
text = sys.stdin.buffer.read()
os.write(writer, text[:20000])
def relay():
    return event_relay.EventRelay(reader, folder + "/events.jsonl", folder + "/callback.json", Handover(Job, 1, reader))
real, count = event_file.EventFile.append, 0
def dying(file, line):
    global count
    count += 1
    if count == at and when == "before": os.kill(os.getpid(), 9)
    result = real(file, line)
    if count == at: os.kill(os.getpid(), 9)
    return result
first = os.fork()
if first == 0:
    event_file.EventFile.append = dying
    killed = relay()
    while killed.take(): pass
    os._exit(0)
assert os.waitpid(first, 0)[1] == 9
second = relay()
second.resume()
os.write(writer, text[20000:])
while second.take(): pass
second.finish()
`

/** Sends pieces through the pipe as a playbook could. @returns what is in the two files afterwards */
async function relayed(...pieces: string[]): Promise<{ lines: string[]; report: Record<string, unknown> | null }> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-relay-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await execa(python, ['-I', '-S', '-c', DRIVER, agentFolder, folder], { input: JSON.stringify(pieces) })
  const read = (name: string): Promise<string> => readFile(join(folder, name), 'utf8').catch(() => '')
  const report = await read('callback.json')
  return {
    lines: (await read('events.jsonl')).split('\n').slice(0, -1),
    report: report === '' ? null : (JSON.parse(report) as Record<string, unknown>),
  }
}

const event = (order: number | string, more = ''): string => `{"order":${order},"type":"x"${more}}\n`

describe('events of a playbook with a user of its own', () => {
  it.each([
    [1, 'before'],
    [1, 'after'],
    [150, 'before'],
    [150, 'after'],
  ])('are exact when the supervisor is killed at event %d, %s it is written', async (at, when) => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-relay-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const lines = Array.from({ length: 400 }, (_, index) => event(index + 1, `,"task":"${'y'.repeat(index % 60)}"`))
    const given = [agentFolder, folder, String(at), when]
    await execa(python, ['-I', '-S', '-c', KILLED, ...given], { input: lines.join('') })
    expect(await readFile(join(folder, 'events.jsonl'), 'utf8')).toBe(lines.join(''))
    const report = await readFile(join(folder, 'callback.json'), 'utf8')
    expect(JSON.parse(report)).toMatchObject({ events: 400, dropped: 0, errors: 0 })
  })

  it('are numbered by their lines, whatever numbers they say', async () => {
    const { lines, report } = await relayed(event(1), event(2) + event(2), event(9), event('007'))
    expect(lines).toEqual([1, 2, 3, 4, 5].map((order) => event(order).trimEnd()))
    expect(report).toMatchObject({ plugin: 1, events: 5, dropped: 0, errors: 0 })
  })

  it('in pieces are put together', async () => {
    const { lines } = await relayed('{"ord', 'er":1,"ty', 'pe":"x"}\n{"order":', '2,"type":"x"}\n')
    expect(lines).toEqual([event(1).trimEnd(), event(2).trimEnd()])
  })

  it('that are none are counted and left out', async () => {
    const { lines, report } = await relayed(
      '\n',
      'x\n',
      '{"order":}\n',
      '{"order":1e9,"a":1}\n',
      '\0\xff\n',
      event(1),
      'half',
    )
    expect(lines).toEqual([event(1).trimEnd()])
    expect(report).toMatchObject({ dropped: 6, errors: 0 })
  })

  it('that are too long are left out as a whole, and the next one is there', async () => {
    const long = event(1, `,"a":"${'z'.repeat(300_000)}"`)
    const { lines, report } = await relayed(event(1), long, long + event(2), 'z'.repeat(900_000))
    expect(lines).toEqual([event(1).trimEnd(), event(2).trimEnd()])
    expect(report).toMatchObject({ dropped: 3 })
  })

  it('that become too long by their own number are left out, and the longest one is kept', async () => {
    const padded = (bytes: number) => event(1, `,"a":"${'z'.repeat(bytes - event(1, ',"a":""').length)}"`)
    const longest = padded(256 * 1024)
    const nine = Array.from({ length: 9 }, () => event(1)).join('')
    expect(await relayed(longest)).toMatchObject({ lines: [longest.trimEnd()], report: { events: 1, dropped: 0 } })
    const { lines, report } = await relayed(nine, longest, event(1))
    expect(lines.slice(8)).toEqual([event(9).trimEnd(), event(10).trimEnd()])
    expect(report).toMatchObject({ events: 10, dropped: 1 })
  })

  it('come with a report, of which nothing is believed that cannot be', async () => {
    const good = { ansible: '2.14.0', pid: 7, errors: 2, dropped: 1, finished: true, remark: 'a\n\u001b[31mb' }
    const bad = ['#{}', '#[', '#{"errors":1e999}', `#${'9'.repeat(5000)}`, '#{"errors":"x"}', `#${'['.repeat(4000)}`]
    const all = await relayed(event(1), `#${JSON.stringify(good)}\n`, bad.join('\n') + '\n')
    expect(all.report).toMatchObject({ ansible: '2.14.0', pid: 7, errors: 8, dropped: 1, finished: true, events: 1 })
    expect(all.report).toMatchObject({ remark: 'a [31mb' })
    const lying = { ansible: 'x'.repeat(900), pid: -1, errors: -5, dropped: 1e30, finished: 'yes', remark: ['x'] }
    const { report } = await relayed(`#${JSON.stringify(lying)}\n`)
    expect(report).toMatchObject({
      ansible: 'x'.repeat(200),
      pid: 0,
      errors: 0,
      finished: false,
      dropped: 2 ** 31,
      remark: null,
    })
  })

  it('of a callback that was never there leave no report', async () => {
    expect(await relayed()).toEqual({ lines: [], report: null })
  })
})
