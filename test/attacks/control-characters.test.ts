import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { createTerminalFilter } from '../../control-plane/src/cli/follow/terminal-filter.js'
import { printable } from '../../control-plane/src/cli/show/printable.js'
import { createLog as createServiceLog } from '../../control-plane/src/ground/log.js'
import { logLineText } from '../../protocol/src/log-line.js'
import { createLog as createAgentLog } from '../../runner-agent/src/log.js'
import { type FakeService, startFakeService } from '../cli/fake-service.js'
import { newPerson } from '../cli/run-cli.js'

const RED = '\u001b[0;31m'
const OFF = '\u001b[0m'
const TURNS = '\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c'
/** Clipboard, title, queries that the terminal answers as if typed, keyboard modes, moves, C1 and direction of text. */
const COMMANDS =
  '\u001b]52;c;ZXZpbA==\u0007\u001b]0;title\u001b\\\u001b[c\u001b[6n\u001b[>4;1m\u001b[?1000h\u001bP$qm\u001b\\' +
  `\u001b[2J\u001b(0\u001bc\u009d52;c;eA==\u009c\u009b6n\u0085\u0008\u0007${TURNS}`
const OUTPUT = `a${COMMANDS}b\t${RED}red${OFF}\nlast\n`
const SHOWN = `ab\t${RED}red${OFF}\nlast\n`
const SENT_TO_TERMINALS = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

test('a name in a log of text can neither begin a line nor send commands to a terminal', () => {
  const hostile = `a\nb\u001b]52;c;eA==\u0007\u009b2J${TURNS}c`
  const line = logLineText(JSON.stringify({ time: 't', level: 'warn', msg: hostile, name: hostile, [hostile]: 1 }))
  expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f]/)
  expect(line).not.toMatch(SENT_TO_TERMINALS)
  expect(line.endsWith('\n')).toBe(true)
})

test.each([
  ['control plane', createServiceLog],
  ['runner', createAgentLog],
])('a log of JSON of the %s holds no raw control character, and its values stay the same', (_of, createLog) => {
  const hostile = `a\n\u007f\u009b2J${TURNS}`
  let written = ''
  createLog({ level: 'info', format: 'json', output: { write: (line) => void (written += line) } }).warn(
    { name: hostile, [hostile]: 1 },
    hostile,
  )
  expect(written).not.toMatch(SENT_TO_TERMINALS)
  expect(JSON.parse(written)).toMatchObject({ msg: hostile, name: hostile, [hostile]: 1 })
})

test('a name in a table can neither send commands to a terminal nor turn the direction of text', () => {
  expect(printable(`a${TURNS}b\u0085\u007f\u009dc`)).toMatch(/^a b c$/)
})

describe('the output of a job on a terminal', () => {
  it('keeps only text, line ends, tabs and colours, wherever its pieces end', () => {
    const bytes = Buffer.from(`ä漢${OUTPUT}\r${RED}open`)
    const expected = `ä漢${SHOWN}\r${RED}open${OFF}`
    for (const size of [1, 2, 3, 7, bytes.length]) {
      const filter = createTerminalFilter(true)
      let text = ''
      for (let at = 0; at < bytes.length; at += size) text += filter.push(bytes.subarray(at, at + size))
      expect(text + filter.end()).toBe(expected)
    }
  })

  it('goes on after a command that is cut off', () => {
    const filter = createTerminalFilter(true)
    const text = filter.push(Buffer.from('a\u001b]0;never ended\nb\u001b[12\nc\u001b'))
    expect(text + filter.end()).toBe('a\nb\nc')
  })
})

describe.each([['follow'], ['download']])('job %s of hostile output', (command) => {
  it('sends a terminal nothing but text and colours', async () => {
    const { stdout } = await personWithJob().then((person) => person.run(['job', command, '1'], { terminal: true }))
    expect(stdout).toContain(SHOWN.replaceAll('\n', '\r\n'))
    expect(stdout).not.toMatch(SENT_TO_TERMINALS)
    expect(stdout.replace(/\u001b\[[\d;]*m/g, '')).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/)
  })

  it('keeps every byte where a program reads it', async () => {
    const person = await personWithJob()
    const pipe = await person.run(['job', command, '1', ...(command === 'follow' ? ['--color'] : [])])
    expect(pipe.stdout).toBe(OUTPUT)
    if (command === 'follow') return
    const path = join(person.home, 'out.txt')
    await person.run(['job', 'download', '1', '-o', path])
    expect(readFileSync(path, 'utf8')).toBe(OUTPUT)
  })
})

async function personWithJob() {
  const service: FakeService = await startFakeService()
  onTestFinished(() => service.stop())
  service.addJob({ output: Buffer.from(OUTPUT), status: 'success' })
  return newPerson({ HOLDFAST_TOKEN: 'script-token', HOLDFAST_SERVER: service.address })
}
