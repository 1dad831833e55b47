import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AnsweringServer, startAnsweringServer } from '../support/answering-server.js'
import { type TestServer, startServer } from '../api/server.js'
import { type AtTerminal, askAt, launchedBy } from './terminal.js'

/**
 * What the control plane computes inside of a row, at a real pseudo-terminal: choices that a source gives, values that
 * follow other fields of the row and of the form, and what is shown.
 */
const RACK = (url: string) => `name: Rack
type: ansible
playbook: rack.yml
roles: [default]
fields:
  - { name: site, type: radio, label: Site, values: [ams, ber], required: true }
  - { name: limit, type: number, label: Limit, default: 4 }
  - { name: machines, type: list, label: Machines, subform: Machine }
  - name: total
    type: expression
    label: Total
    runLocal: true
    expression: "$(machines).reduce((sum, one) => sum + one.cores, 0)"
---
name: Machine
type: subform
fields:
  - name: net
    type: enum
    label: Net
    required: true
    expression: "fn.fnRestBasic('get', '${url}/nets?site=$(__parent__.site)', '', '', '.[].name')"
  - { name: cores, type: number, label: Cores, required: true, maxValue: "$(__parent__.limit)" }
  - { name: name, type: expression, label: Name, runLocal: true, expression: "'$(__parent__.site)-$(net)-$(cores)'" }
  - { name: alias, type: expression, label: Alias, runLocal: true, editable: true, expression: "'alias-$(net)'" }
  - { name: why, type: text, label: Why, required: true, dependencies: [{ name: name, values: [ber-lan-4] }] }
  - { name: disks, type: list, label: Disks, subform: Disk }
---
name: Disk
type: subform
fields:
  - name: kind
    type: enum
    label: Kind
    required: true
    expression: "fn.fnRestBasic('get', '${url}/kinds?net=$(__parent__.net)', '', '', '.')"
  - name: path
    type: expression
    label: Path
    runLocal: true
    expression: "'$(__parent__.__parent__.site)/$(__parent__.net)/$(kind)'"
`
const SPAN = `name: Span
type: ansible
playbook: rack.yml
roles: [default]
fields:
  - { name: ends, type: list, label: Ends, subform: End }
`
const END = `name: End
type: subform
fields:
  - { name: low, type: number, label: Low, maxValue: "$(high)" }
  - { name: high, type: number, label: High, required: true }
`
const WIZARD = `name: Setup
type: ansible
playbook: rack.yml
roles: [default]
fields: []
wizard:
  - { name: place, subform: Place }
`
const PLACE = `name: Place
type: subform
fields:
  - { name: floor, type: text, label: Floor, required: true }
  - { name: doors, type: list, label: Doors, subform: Door }
`
const DOOR = `name: Door
type: subform
fields:
  - { name: sign, type: expression, label: Sign, runLocal: true, expression: "'door on $(__parent__.floor)'" }
  - { name: color, type: enum, label: Color, runLocal: true, expression: "['red', '$(__parent__.floor)']" }
`
const [ENTER, DOWN, BACKSPACE] = ['\r', '\x1b[B', '\x7f']

let source: AnsweringServer
let server: TestServer
beforeAll(async () => {
  source = await startAnsweringServer({
    '/nets': ({ path }, response) => {
      const names = path.endsWith('ber') ? ['lan', 'dmz'] : ['lan', 'san']
      // Longer than an evaluation waits by itself.
      const send = () => response.end(JSON.stringify(names.map((name) => ({ name }))))
      setTimeout(send, 2_500)
    },
    '/kinds': ({ path }, response) => response.end(JSON.stringify(path.endsWith('dmz') ? ['tape'] : ['ssd', 'nvme'])),
  })
  const [rack = '', machine = '', disk = ''] = RACK(source.url).split('---\n')
  server = await startServer({
    settings: { REST_ALLOWED_HOSTS: '127.0.0.1' },
    forms: {
      'a.yml': rack,
      'b.yml': machine,
      'c.yml': disk,
      'd.yml': WIZARD,
      'e.yml': PLACE,
      'f.yml': DOOR,
      'g.yml': SPAN,
      'h.yml': END,
    },
  })
})
afterAll(async () => {
  await server.close()
  await source.close()
})

const ask = (form: string) => askAt(server, form)
const launched = (cli: AtTerminal) => launchedBy(cli, server)

describe('a row of job launch --ask', () => {
  it('offers the choices of a source, computes values, and shows what hangs on them, also in rows of rows', async () => {
    const cli = ask('Rack')
    await cli.at('Site *', DOWN, ENTER)
    await cli.at('Limit', ENTER)
    await cli.at('Machines: 0 rows', DOWN, ENTER)
    await cli.at('Net: its source is slow to answer.')
    await cli.at('Net *')
    await cli.at('dmz', ENTER)
    await cli.at('Cores *', '5', ENTER)
    // A limit that is a value of the form.
    await cli.at('Cores: Cores must be at most 4')
    await cli.at('Cores *', BACKSPACE, '4', ENTER)
    await cli.at('Name: ber-lan-4')
    await cli.at('Alias', BACKSPACE.repeat(3), 'x', ENTER)
    await cli.at('Why *', 'more', ENTER)
    await cli.at('Disks: 0 rows', DOWN, ENTER)
    await cli.at('Kind *')
    await cli.at('nvme', DOWN, ENTER)
    await cli.at('Path: ber/lan/nvme')
    await cli.at('Disks: 1 rows', ENTER)
    await cli.at('Machines: 1 rows', DOWN, ENTER)
    await cli.at('Net *', DOWN, ENTER)
    await cli.at('Cores *', '2', ENTER)
    await cli.at('Name: ber-dmz-2')
    await cli.at('Alias', ENTER)
    await cli.at('Disks: 0 rows', DOWN, ENTER)
    await cli.at('Kind *')
    await cli.at('tape', ENTER)
    await cli.at('Path: ber/dmz/tape')
    await cli.at('Disks: 1 rows', ENTER)
    await cli.at('Machines: 2 rows', ENTER)
    await cli.at('Total: 6')
    await cli.at('Launch?', ENTER)
    expect((await launched(cli)).machines).toEqual([
      {
        net: 'lan',
        cores: 4,
        name: 'ber-lan-4',
        alias: 'alias-x',
        why: 'more',
        disks: [{ kind: 'nvme', path: 'ber/lan/nvme' }],
      },
      {
        net: 'dmz',
        cores: 2,
        name: 'ber-dmz-2',
        alias: 'alias-dmz',
        disks: [{ kind: 'tape', path: 'ber/dmz/tape' }],
      },
    ])
  })

  it('takes what is no more shown out of a row that is changed', async () => {
    const cli = ask('Rack')
    await cli.at('Site *', DOWN, ENTER)
    await cli.at('Limit', ENTER)
    await cli.at('Machines: 0 rows', DOWN, ENTER)
    await cli.at('Net *')
    await cli.at('dmz', ENTER)
    await cli.at('Cores *', '4', ENTER)
    await cli.at('Alias', ENTER)
    await cli.at('Why *', 'more', ENTER)
    await cli.at('Disks: 0 rows', ENTER)
    await cli.at('Row 1: net=lan cores=4 why=more', DOWN, DOWN, ENTER)
    await cli.at('Net *', ENTER)
    await cli.at('Cores *', BACKSPACE, '3', ENTER)
    await cli.at('Name: ber-lan-3')
    await cli.at('Alias', ENTER)
    await cli.at('Disks: 0 rows', ENTER)
    await cli.at('Machines: 1 rows')
    await cli.at('Row 1: net=lan cores=3', ENTER)
    await cli.at('Launch?', ENTER)
    const { machines } = await launched(cli)
    expect(machines).toEqual([{ net: 'lan', cores: 3, name: 'ber-lan-3', alias: 'alias-lan', disks: [] }])
  })

  it('is judged with its list again, because what comes later in it may refuse what came first', async () => {
    const cli = ask('Span')
    await cli.at('Ends: 0 rows', DOWN, ENTER)
    await cli.at('Low', '5', ENTER)
    await cli.at('High *', '3', ENTER)
    await cli.at('Ends: 1 rows', ENTER)
    await cli.at('Ends: row 1: Low must be at most 3')
    await cli.at('Ends: 1 rows', DOWN, DOWN, ENTER)
    await cli.at('Low', BACKSPACE, '2', ENTER)
    await cli.at('High *', ENTER)
    await cli.at('Ends: 1 rows', ENTER)
    await cli.at('Launch?', ENTER)
    expect(await launched(cli)).toMatchObject({ ends: [{ low: 2, high: 3 }] })
  })

  it('computes rows in a step of a wizard', async () => {
    const cli = ask('Setup')
    await cli.at('Step: place')
    await cli.at('Floor *', 'blue', ENTER)
    await cli.at('Doors: 0 rows', DOWN, ENTER)
    await cli.at('Sign: door on blue')
    await cli.at('Color')
    await cli.at('blue', DOWN, ENTER)
    await cli.at('Doors: 1 rows', ENTER)
    await cli.at('Launch?', ENTER)
    expect(await launched(cli)).toMatchObject({ doors: [{ sign: 'door on blue', color: 'blue' }] })
  })
})
