import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { waitFor } from '../support/wait.js'
import { newPerson } from './run-cli.js'
import { startAtTerminal } from './terminal.js'

/** Somebody is walked through a form at a terminal: real program, real pseudo-terminal. */
const ORDER = `name: Order
description: Orders a machine
type: ansible
playbook: order.yml
roles: [default]
fields:
  - { name: note, type: html, expression: "<b>Ask</b> the <i>team</i> first" }
  - { name: host, type: text, label: Host, required: true, regex: { expression: "^[a-z]+$", description: Small letters } }
  - { name: site, type: enum, label: Site, values: [amsterdam, berlin, cologne, dublin, essen, florence, geneva] }
  - { name: size, type: radio, label: Size, values: [S, M, L], default: M }
  - { name: wide, type: checkbox, label: Wide, dependencies: [{ name: size, values: [L] }] }
  - { name: full, type: expression, label: Full name, runLocal: true, expression: "'$(host)' + '-' + '$(site)'" }
  - { name: amount, type: number, label: Amount, minValue: 1, maxValue: 10, default: 2 }
  - { name: day, type: datetime, label: Day, dateType: date }
  - { name: secret, type: password, label: Secret }
  - { name: disks, type: list, label: Disks, subform: Disk }
`
const DISK = `name: Disk
type: subform
fields:
  - { name: kind, type: radio, label: Kind, values: [ssd, tape], required: true }
`
const WIZARD = `name: Setup
type: ansible
playbook: order.yml
roles: [default]
fields: []
wizard:
  - { name: storage, subform: Disk }
  - { name: backup, subform: Disk, optional: true }
`
const HIDING = `name: Hiding
type: ansible
playbook: order.yml
roles: [default]
fields: []
wizard:
  - { name: storage, subform: Disk }
  - { name: backup, subform: Disk, when: "'$(__parent__.storage.kind)' === 'tape'" }
  - { name: archive, subform: Disk }
`
const [ENTER, DOWN, CTRL_C] = ['\r', '\x1b[B', '\x03']

let server: TestServer
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-ask-'))
  server = await startServer({
    forms: { 'order.yml': ORDER, 'disk.yml': DISK, 'wizard.yml': WIZARD, 'hiding.yml': HIDING },
    settings: { LAUNCH_VALIDATION: 'enforce' },
  })
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

const start = (args: readonly string[]) =>
  startAtTerminal({ HOLDFAST_TOKEN: server.admin, HOLDFAST_SERVER: server.url }, args)

/** The newest job; null when there is none. */
async function lastJob(): Promise<{ id: number; extravars: Record<string, unknown> } | null> {
  const { body } = await server.call('GET', '/job', { token: server.admin })
  const [last] = body.records as { id: number }[]
  return last ? ((await server.call('GET', `/job/${last.id}`, { token: server.admin })).body as never) : null
}

describe('job launch --ask', () => {
  it('asks field by field, has each answer checked, shows computed values, and launches', async () => {
    const cli = start(['job', 'launch', 'Order', '--ask'])
    await cli.at('Order')
    await cli.at('Orders a machine')
    await cli.at('Ask the team first')
    await cli.at('Host *', 'WEB', ENTER)
    await cli.at('Small letters')
    // The answer stands there and can be changed.
    await cli.at('Host *', '\x7f\x7f\x7f', 'web', ENTER)
    await cli.at('Site', 'berl')
    await cli.at('berlin', ENTER)
    await cli.at('Size', ENTER)
    await cli.at('Full name: web-berlin')
    await cli.at('Amount', '2', ENTER)
    await cli.at('must be at most 10')
    await cli.at('Amount', '\x7f', ENTER)
    await cli.at('Day', '2027', '03', '04', ENTER)
    await cli.at('Secret', 'swordfish', ENTER)
    await cli.at('Disks: 0 rows', DOWN, ENTER)
    await cli.at('Kind *', DOWN, ENTER)
    await cli.at('Disks: 1 rows', ENTER)
    // All answers once more, before the launch.
    await cli.at('Host: web')
    await cli.at('Site: berlin')
    await cli.at('Launch?', ENTER)
    expect(await cli.ended).toMatchObject({ code: 0 })
    const shown = cli.screen()
    expect(shown).not.toContain('swordfish')
    expect(shown).not.toContain('Wide')
    expect(shown).toMatch(/Secret: \*{8}/)
    const job = await lastJob()
    expect(job?.extravars).toMatchObject({
      host: 'web',
      site: 'berlin',
      size: 'M',
      full: 'web-berlin',
      amount: 2,
      day: '2027-03-04',
      disks: [{ kind: 'tape' }],
    })
  })

  it('prints the answers for a script without passwords, and launches them from the file', async () => {
    const before = await lastJob()
    const path = join(folder, 'setup.json')
    const cli = start(['job', 'launch', 'Setup', '--ask', '--print'])
    await cli.at('Step: storage')
    await cli.at('Kind *', DOWN, ENTER)
    await cli.at('Fill in the step "backup"?', ENTER)
    expect(await cli.ended).toMatchObject({ code: 0 })
    expect((await lastJob())?.id).toBe(before?.id)
    const printed = cli.screen()
    writeFileSync(path, printed.slice(printed.lastIndexOf('\n{'), printed.lastIndexOf('}') + 1))
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ storage: { kind: 'tape' } })

    const person = newPerson({ HOLDFAST_TOKEN: server.admin, HOLDFAST_SERVER: server.url })
    expect(await person.run(['job', 'launch', 'Setup', '--from-file', path])).toMatchObject({ code: 0 })
    expect((await lastJob())?.extravars).toMatchObject({ kind: 'tape' })
    const secret = await person.run(['job', 'launch', 'Order', '-e', 'host=web', '-e', 'secret=swordfish', '--print'])
    expect(JSON.parse(secret.stdout)).toEqual({ host: 'web' })
    expect(secret.stderr).toContain('Left out, because they are passwords: secret.')
  })

  it('asks only for values that are missing or refused, and launches nothing at Ctrl+C', async () => {
    const before = await lastJob()
    const cli = start(['job', 'launch', 'Setup', '--ask', '-e', '{"storage": {"kind": "paper"}}'])
    await cli.at('Step: storage')
    await cli.at('Kind: ')
    await cli.at('Kind *', CTRL_C)
    const { code } = await cli.ended
    expect(code).toBe(130)
    expect(cli.screen()).toContain('Nothing was launched.')
    expect((await lastJob())?.id).toBe(before?.id)
  })

  it('launches nothing when somebody says no at the end', async () => {
    const before = await lastJob()
    const cli = start(['job', 'launch', 'Setup', '--ask', '-e', '{"storage": {"kind": "tape"}}'])
    await cli.at('Fill in the step "backup"?', ENTER)
    await cli.at('storage: Kind: tape')
    await cli.at('Launch?', 'n')
    expect((await cli.ended).code).toBe(0)
    expect(cli.screen()).toContain('Nothing was launched.')
    expect((await lastJob())?.id).toBe(before?.id)
  })

  it('asks for the fields of a step only when the answers before it show the step', async () => {
    for (const [keys, second] of [
      [[ENTER], 'archive'],
      [[DOWN, ENTER], 'backup'],
    ] as const) {
      const cli = start(['job', 'launch', 'Hiding', '--ask'])
      await cli.at('Step: storage')
      await cli.at('Kind *', ...keys)
      await cli.at('Step: ')
      await cli.at('Kind *')
      expect([...cli.screen().matchAll(/Step: (\w+)/g)].map(([, name]) => name)).toEqual(['storage', second])
      cli.process.stdin.write(CTRL_C)
      expect((await cli.ended).code).toBe(130)
    }
  })

  it('says what to use where there is no terminal', async () => {
    const person = newPerson({ HOLDFAST_TOKEN: server.admin, HOLDFAST_SERVER: server.url })
    const { code, stderr } = await person.run(['job', 'launch', 'Order', '--ask'])
    expect(code).toBe(2)
    expect(stderr).toContain('--ask needs a terminal. Give the values with -e or --from-file.')
    // The questions would go into a file, and nobody would see them.
    const said = join(folder, 'said')
    const { ended } = person.start(['job', 'launch', 'Order', '--ask'], { terminal: true, stderrTo: said })
    await waitFor('what it says', () => existsSync(said) && readFileSync(said, 'utf8') !== '')
    expect(readFileSync(said, 'utf8')).toContain('--ask needs a terminal.')
    expect((await ended).code).toBe(2)
  })
})
