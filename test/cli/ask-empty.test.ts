import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { type AtTerminal, askAt, launchedBy } from './terminal.js'

/** Optional fields of every type are left empty at a real pseudo-terminal: those without a default, and those with one. */
const head = (name: string) => `name: ${name}\ntype: ansible\nplaybook: x.yml\nroles: [default]\nfields:\n`
const DATES = ['date', 'datetime', 'time', 'month', 'week', 'year']
const WITHOUT = `${head('Without')}
  - { name: text, type: text, label: Text, minLength: 3, regex: { expression: "^a", description: An a } }
  - { name: long, type: textarea, label: Long }
  - { name: secret, type: password, label: Secret }
  - { name: number, type: number, label: Number, minValue: 5 }
  - { name: tick, type: checkbox, label: Tick }
  - { name: radio, type: radio, label: Radio, values: [a, b] }
  - { name: one, type: enum, label: One, values: [a, b] }
  - { name: several, type: enum, label: Several, multiple: true, values: [a, b] }
${DATES.map((type) => `  - { name: ${type}, type: datetime, label: A ${type}, dateType: ${type} }`).join('\n')}
  - { name: file, type: file, label: File }
  - { name: yaml, type: yaml, label: Yaml }
  - { name: own, type: expression, label: Own, runLocal: true, editable: true, expression: "undefined" }
  - { name: rows, type: list, label: Rows, subform: Row }
  - { name: none, type: enum, label: None, values: [] }
`
const ROW = `name: Row\ntype: subform\nfields:\n  - { name: day, type: datetime, label: Day, dateType: date }\n`
const WITH = `${head('With')}
  - { name: text, type: text, label: Text, default: abc }
  - { name: long, type: textarea, label: Long, default: abc }
  - { name: number, type: number, label: Number, default: 7 }
  - { name: radio, type: radio, label: Radio, values: [a, b], default: b }
  - { name: one, type: enum, label: One, values: [a, b], default: b }
  - { name: several, type: enum, label: Several, multiple: true, values: [a, b], default: [b] }
  - { name: day, type: datetime, label: Day, dateType: date, default: "2027-03-04" }
  - { name: time, type: datetime, label: Time, dateType: time, default: "10:00" }
  - { name: yaml, type: yaml, label: Yaml, default: "a" }
  - { name: own, type: expression, label: Own, runLocal: true, editable: true, expression: "'xyz'" }
  - { name: rows, type: list, label: Rows, subform: Row, default: [{ day: "2027-03-04" }] }
  - { name: last, type: text, label: Last, default: kept }
`
const PARTLY = `${head('Partly')}  - { name: day, type: datetime, label: Day, dateType: date }
  - { name: must, type: datetime, label: Must, dateType: date, required: true }
  - { name: none, type: enum, label: None, values: [], required: true }
`
const [ENTER, DOWN, TAB, BACKSPACE] = ['\r', '\x1b[B', '\t', '\x7f']

let server: TestServer
beforeAll(async () => {
  server = await startServer({ forms: { 'a.yml': WITHOUT, 'b.yml': ROW, 'c.yml': WITH, 'd.yml': PARTLY } })
})
afterAll(() => server.close())

const ask = (form: string) => askAt(server, form)
/** Which fields the job that was launched last has, with their values. */
async function launched(cli: AtTerminal): Promise<Record<string, unknown>> {
  const values = Object.entries(await launchedBy(cli, server))
  return Object.fromEntries(values.filter(([name]) => !name.includes('__') && name !== 'ansibleforms_user'))
}

describe('an optional field of job launch --ask', () => {
  it('of each type may be left empty', async () => {
    const cli = ask('Without')
    await cli.at('Text', ENTER)
    await cli.at('Long', ENTER, ENTER)
    await cli.at('Secret', ENTER)
    await cli.at('Number', ENTER)
    await cli.at('Tick', ENTER)
    await cli.at('Radio', DOWN, DOWN, ENTER)
    await cli.at('One', DOWN, DOWN, ENTER)
    await cli.at('Several', ENTER)
    await cli.at('A date', ENTER)
    await cli.at('A date: leave it empty?', ENTER)
    for (const type of DATES.slice(1)) await cli.at(`A ${type}`, ENTER)
    await cli.at('File: send a file?', ENTER)
    await cli.at('Yaml', ENTER, ENTER)
    await cli.at('Own', ENTER)
    await cli.at('Rows: 0 rows', DOWN, ENTER)
    await cli.at('Day', ENTER)
    await cli.at('Day: leave it empty?', ENTER)
    await cli.at('Rows: 1 rows', ENTER)
    await cli.at('None: there is nothing to choose from.')
    await cli.at('Launch?', ENTER)
    expect(await launched(cli)).toEqual({ tick: false, several: [], rows: [{}] })
    expect(cli.screen()).not.toMatch(/must|is required|not a number|An a/)
  })

  it('with a default may be emptied, and does not get the default then', async () => {
    const cli = ask('With')
    await cli.at('Text', BACKSPACE.repeat(3), ENTER)
    await cli.at('Long', BACKSPACE.repeat(3), ENTER, ENTER)
    await cli.at('Number', BACKSPACE, ENTER)
    await cli.at('Radio', DOWN, ENTER)
    await cli.at('One', DOWN, ENTER)
    await cli.at('Several', TAB, ENTER)
    await cli.at('Day', BACKSPACE, TAB, BACKSPACE, TAB, BACKSPACE, ENTER)
    await cli.at('Day: leave it empty?', ENTER)
    await cli.at('Time', BACKSPACE.repeat(5), ENTER)
    await cli.at('Yaml', BACKSPACE, ENTER, ENTER)
    await cli.at('Own', BACKSPACE.repeat(3), ENTER)
    await cli.at('Rows: 1 rows', DOWN, DOWN, DOWN, ENTER)
    await cli.at('Rows: 0 rows', ENTER)
    await cli.at('Last', ENTER)
    await cli.at('Launch?', ENTER)
    expect(await launched(cli)).toEqual({ several: [], rows: [], last: 'kept' })
  })

  it('is not emptied by half of a date, and a required one is asked for until it is there', async () => {
    const cli = ask('Partly')
    await cli.at('Day', '2027', '03', ENTER)
    await cli.at('Day: leave it empty?', 'n')
    await cli.at('Day', '2027', '03', '04', ENTER)
    await cli.at('Must *', ENTER)
    await cli.at('Please enter a valid date', '2028', '05', '06', ENTER)
    await cli.at('None: there is nothing to choose from.')
    await cli.at('Look again?', ENTER)
    await cli.at('None is required')
    await cli.at('Look again?', 'n')
    const { code } = await cli.ended
    expect(code).toBe(130)
    expect(cli.screen()).toContain('Nothing was launched.')
  })
})
