import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { type AtTerminal, askAt, launchedBy } from './terminal.js'

/** Each kind of question that `job launch --ask` has, at a real pseudo-terminal. */
const KINDS = `name: Kinds
type: ansible
playbook: kinds.yml
roles: [default]
fields:
  - { name: notes, type: textarea, label: Notes }
  - { name: extra, type: yaml, label: Extra }
  - { name: count, type: number, label: Count }
  - { name: sure, type: checkbox, label: Sure, required: true }
  - { name: teams, type: enum, label: Teams, multiple: true, values: [red, green, blue, white, black, brown, beige] }
  - { name: color, type: enum, label: Color, values: [red, green] }
  - { name: at, type: datetime, label: At, dateType: datetime }
  - { name: hour, type: datetime, label: Hour, dateType: time }
  - { name: month, type: datetime, label: Month, dateType: month }
  - { name: size, type: enum, label: Size, values: [{ id: 1, name: small }, { id: 2, name: large }], valueColumn: name }
  - { name: own, type: expression, label: Own, runLocal: true, editable: true, expression: "'srv-$(count)'" }
`
const FILE = `name: Upload
type: ansible
playbook: kinds.yml
roles: [default]
fields:
  - { name: image, type: file, label: Image, required: true, regex: { expression: "[.]iso$", description: An image } }
  - { name: more, type: file, label: More }
`
const ROWS = `name: Rows
type: ansible
playbook: kinds.yml
roles: [default]
fields:
  - name: nics
    type: list
    label: Nics
    subform: Nic
    default: [{ net: lan, vlan: 1 }, { net: wan, vlan: 2 }]
`
const NIC = `name: Nic
type: subform
fields:
  - { name: net, type: text, label: Net, required: true }
  - { name: vlan, type: number, label: Vlan, minValue: 1 }
  - { name: pin, type: password, label: Pin, dependencies: [{ name: net, values: [dmz] }] }
`
const WIZARD = `name: Steps
type: ansible
playbook: kinds.yml
roles: [default]
fields: []
wizard:
  - { name: place, subform: Place }
  - { name: cloud, subform: Nic, when: "'$(__parent__.place.where)' === 'cloud'", defaultModel: cloud.nic }
  - { name: backup, subform: Nic, optional: true, defaultModel: backup }
`
const PLACE = `name: Place
type: subform
fields:
  - { name: where, type: radio, label: Where, values: [here, cloud], required: true }
`
const PARTS = `- name: Parts
  type: ansible
  playbook: kinds.yml
  roles: [default]
  fields: []
  wizard: [{ name: system, subform: System }, { name: storage, subform: Storage }]
- name: System
  type: subform
  fields: [{ name: image, type: file, label: Image, required: true }]
- name: Storage
  type: subform
  fields: [{ name: disks, type: list, label: Disks, subform: Disk }]
- name: Disk
  type: subform
  fields: [{ name: name, label: Name }, { name: content, type: file, label: Content, required: true, maxSize: 8 }]
`
const [ENTER, DOWN, TAB, BACKSPACE, CLEAR] = ['\r', '\x1b[B', '\t', '\x7f', '\x15']

let server: TestServer
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-kinds-'))
  mkdirSync(join(folder, 'a-folder'))
  symlinkSync('b-circle', join(folder, 'b-circle'))
  symlinkSync('nothing', join(folder, 'c-nowhere'))
  writeFileSync(join(folder, 'disk.iso'), 'an image')
  writeFileSync(join(folder, 'notes.txt'), 'no image')
  writeFileSync(join(folder, 'tiny'), 'tiny')
  server = await startServer({
    forms: {
      'a.yml': KINDS,
      'b.yml': FILE,
      'c.yml': ROWS,
      'd.yml': NIC,
      'e.yml': WIZARD,
      'f.yml': PLACE,
      'g.yml': PARTS,
    },
  })
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

const ask = (form: string, ...more: readonly string[]) => askAt(server, form, ...more)
const launched = (cli: AtTerminal) => launchedBy(cli, server)

describe('job launch --ask', () => {
  it('asks for long texts, YAML, numbers, ticks, several choices, times and what may be changed', async () => {
    const cli = ask('Kinds')
    await cli.at('Notes', 'one', ENTER, 'two', ENTER, ENTER)
    await cli.at('Extra', 'a: [', ENTER, ENTER)
    await cli.at('must be valid YAML')
    await cli.at('Extra', '1, 2]', ENTER, ENTER)
    await cli.at('Count', 'many', ENTER)
    await cli.at('That is not a number.')
    await cli.at('Count', BACKSPACE.repeat(4), '7', ENTER)
    await cli.at('Sure *', ENTER)
    await cli.at('is required')
    await cli.at('Sure *', 'y')
    // A part of a name leaves those that have it. Tab chooses.
    await cli.at('Teams', 'b')
    await cli.at('4 matches', TAB)
    await cli.at('◼ blue', DOWN, TAB)
    await cli.at('◼ black', ENTER)
    await cli.at('2 items selected')
    await cli.at('Color', DOWN, DOWN, ENTER)
    await cli.at('At', '2027-03-04T05:06', ENTER)
    await cli.at('Hour', '25:00', ENTER)
    await cli.at('must be a time such as 14:30')
    await cli.at('Hour', BACKSPACE.repeat(5), '23:15', ENTER)
    await cli.at('Month', '2027-03', ENTER)
    await cli.at('Size', DOWN, ENTER)
    await cli.at('Own', BACKSPACE, '8', ENTER)
    await cli.at('Launch?', ENTER)
    expect(await launched(cli)).toMatchObject({
      notes: 'one\ntwo',
      extra: { a: [1, 2] },
      count: 7,
      sure: true,
      teams: ['blue', 'black'],
      size: 'large',
      at: '2027-03-04T05:06',
      hour: '23:15',
      month: '2027-03',
      own: 'srv-8',
    })
  })

  it('asks for files by their paths, and uploads them', async () => {
    const cli = ask('Upload')
    // It begins where the command was started. A folder is no file.
    await cli.at('Image *', CLEAR, join(folder, 'a-'))
    await cli.at('● ' + join(folder, 'a-folder'), ENTER)
    await cli.at('a-folder: is not a file.')
    // It says why it cannot read what is there.
    await cli.at('Image *', CLEAR, join(folder, 'b-'))
    await cli.at('● ' + join(folder, 'b-circle'), ENTER)
    await cli.at('cannot be read: ELOOP: too many symbolic links')
    await cli.at('Image *', CLEAR, join(folder, 'c-'))
    await cli.at('● ' + join(folder, 'c-nowhere'), ENTER)
    await cli.at('c-nowhere: there is no such file.')
    await cli.at('Image *', CLEAR, join(folder, 'dis'))
    await cli.at('● ' + join(folder, 'disk.iso'), ENTER)
    await cli.at('More: send a file?', ENTER)
    await cli.at('Launch?', ENTER)
    const { image, more } = await launched(cli)
    expect(image).toMatchObject({ originalname: 'disk.iso', size: 8 })
    expect(more).toBeUndefined()
  })

  it('asks for the files of wizard steps and of rows, and the file stays with its row', async () => {
    const cli = ask('Parts')
    await cli.at('Step: system')
    await cli.at('Image *', CLEAR, join(folder, 'dis'))
    await cli.at('● ' + join(folder, 'disk.iso'), ENTER)
    await cli.at('Disks: 0 rows', DOWN, ENTER)
    for (const name of ['notes', 'disk']) {
      await cli.at('Name', name, ENTER)
      await cli.at('Content *', CLEAR, join(folder, name.slice(0, 3)))
      await cli.at('● ' + join(folder, name), ENTER)
      await cli.at(' rows', DOWN, ENTER)
    }
    await cli.at('Name', 'third', ENTER)
    await cli.at('Content *', CLEAR, join(folder, 'tin'))
    await cli.at('● ' + join(folder, 'tiny'), ENTER)
    await cli.at('Disks: 3 rows')
    await cli.at(`Row 2: name=disk content=${join(folder, 'disk.iso')}`, ...Array<string>(6).fill(DOWN), ENTER)
    await cli.at('Disks: 2 rows', ENTER)
    await cli.at(`disks[1].content: ${join(folder, 'tiny')}`)
    await cli.at('Launch?', ENTER)
    expect(await launched(cli)).toMatchObject({
      image: { originalname: 'disk.iso' },
      disks: [
        { name: 'notes', content: { originalname: 'notes.txt', size: 8 } },
        { name: 'third', content: { originalname: 'tiny', size: 4 } },
      ],
    })
  })

  it('does not ask for files that were given', async () => {
    const given = [
      '--file',
      `image=${join(folder, 'disk.iso')}`,
      '--file',
      `storage.disks[0].content=${join(folder, 'tiny')}`,
    ]
    const cli = ask('Parts', ...given, '-e', '{"storage": {"disks": [{"name": "a"}]}}')
    await cli.at(`system: Image: ${join(folder, 'disk.iso')}`)
    await cli.at('Launch?', ENTER)
    expect(await launched(cli)).toMatchObject({
      image: { originalname: 'disk.iso', size: 8 },
      disks: [{ name: 'a', content: { originalname: 'tiny', size: 4 } }],
    })
  })

  it('asks for rows: adds, changes and removes them, hides passwords, and shows what hangs on another field', async () => {
    const cli = ask('Rows')
    await cli.at('Nics: 2 rows', DOWN, DOWN, ENTER)
    await cli.at('Net *', BACKSPACE.repeat(3), 'dmz', ENTER)
    await cli.at('Vlan', ENTER)
    await cli.at('Pin', 'swordfish', ENTER)
    await cli.at('Nics: 2 rows')
    await cli.at('Row 1: net=dmz vlan=1 pin=********', DOWN, DOWN, DOWN, DOWN, DOWN, ENTER)
    await cli.at('Nics: 1 rows', DOWN, ENTER)
    await cli.at('Net *', 'san', ENTER)
    await cli.at('Vlan', '0', ENTER)
    await cli.at('Vlan: Vlan must be at least 1')
    await cli.at('Vlan', BACKSPACE, '9', ENTER)
    await cli.at('Nics: 2 rows', DOWN, DOWN, ENTER)
    // A password is not shown, and stays when nothing is typed.
    await cli.at('Net *', ENTER)
    await cli.at('Vlan', ENTER)
    await cli.at('Pin', ENTER)
    await cli.at('Nics: 2 rows', ENTER)
    await cli.at('Launch?', ENTER)
    expect(await launched(cli)).toMatchObject({
      nics: [
        { net: 'dmz', vlan: 1, pin: '********' },
        { net: 'san', vlan: 9 },
      ],
    })
    expect(cli.screen()).not.toContain('swordfish')
  })

  it('walks through the steps of a wizard, and leaves out those that do not count', async () => {
    const here = ask('Steps')
    await here.at('Step: place')
    await here.at('Where *', ENTER)
    await here.at('Fill in the step "backup"?', ENTER)
    await here.at('Launch?', ENTER)
    expect(here.screen()).not.toContain('Step: cloud')
    const first = await launched(here)
    expect(first).toMatchObject({ where: 'here' })
    expect([first.cloud, first.backup]).toEqual([undefined, undefined])

    const cloud = ask('Steps')
    await cloud.at('Where *', DOWN, ENTER)
    await cloud.at('Step: cloud')
    await cloud.at('Net *', 'lan', ENTER)
    await cloud.at('Vlan', '5', ENTER)
    await cloud.at('Fill in the step "backup"?', 'y')
    await cloud.at('Step: backup')
    await cloud.at('Net *', 'bak', ENTER)
    await cloud.at('Vlan', ENTER)
    await cloud.at('Launch?', ENTER)
    expect(await launched(cloud)).toMatchObject({
      where: 'cloud',
      cloud: { nic: { net: 'lan', vlan: 5 } },
      backup: { net: 'bak' },
    })
  })
})
