import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { newQuickPerson } from './run-cli.js'

/** What somebody meets who launches forms from a terminal, and gets something wrong. */
const ORDER = `name: Order
type: ansible
playbook: order.yml
roles: [default]
fields:
  - { name: host, type: text, label: Host, required: true, regex: { expression: "^[a-z]+$", description: Small letters } }
  - { name: amount, type: number, label: Amount, minValue: 1, maxValue: 10, default: 2 }
  - { name: size, type: enum, label: Size, values: [S, M, L], default: M }
  - { name: day, type: datetime, dateType: date, dependencies: [{ name: size, values: [L] }] }
  - { name: disks, type: list, subform: Disk }
`
const DISK = `name: Disk
type: subform
fields:
  - { name: kind, type: radio, values: [ssd, tape], required: true }
`
const WIZARD = `name: Setup
type: ansible
playbook: order.yml
roles: [default]
fields: []
wizard:
  - { name: storage, subform: Disk }
`
let server: TestServer
beforeAll(async () => {
  server = await startServer({
    forms: { 'order.yml': ORDER, 'disk.yml': DISK, 'wizard.yml': WIZARD },
    settings: { LAUNCH_VALIDATION: 'enforce' },
  })
})
afterAll(() => server.close())

const run = (args: readonly string[], options = {}) =>
  newQuickPerson({ HOLDFAST_TOKEN: server.admin, HOLDFAST_SERVER: server.url }).run(args, options)

describe('form show', () => {
  it('lists options, rules and defaults, also of the rows of lists', async () => {
    const { code, stdout } = await run(['form', 'show', 'Order'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^host +text +yes +- +- +Small letters \(matches \^\[a-z\]\+\$\) +Host$/m)
    expect(stdout).toMatch(/^amount +number +- +2 +- +1 to 10 +Amount$/m)
    expect(stdout).toMatch(/^size +enum +- +M +S, M, L +- +Size$/m)
    expect(stdout).toMatch(/^day +datetime +- +- +- +date; shown when size is L +-$/m)
    expect(stdout).toMatch(/^Each row of disks:\n.*\nkind +radio +yes +- +ssd, tape +-$/m)
  })

  it('lists the fields of the steps of a wizard', async () => {
    expect((await run(['form', 'show', 'Setup'])).stdout).toMatch(/^Step storage:\n.*\nkind +radio +yes /m)
  })

  it('keeps within the width of the terminal', async () => {
    for (const columns of [80, 50]) {
      const { stdout } = await run(['form', 'show', 'Order'], { terminal: true, columns })
      const lines = stdout.split('\r\n')
      expect(Math.max(...lines.map((line) => line.replace(/\u001b\[[0-9;]*m/g, '').length))).toBeLessThanOrEqual(
        columns,
      )
      expect(stdout).toContain('S, M, L')
    }
  })
})

describe('a refused launch', () => {
  it('prints one line for each field, with its options, and no JSON', async () => {
    const values = { host: 'A9', amount: 11, size: 'XL', disks: [{ kind: 'ssd' }, { kind: 'cd' }] }
    const { code, stdout, stderr } = await run(['job', 'launch', 'Order', '-e', JSON.stringify(values)])
    expect([code, stdout]).toEqual([5, ''])
    const [sentence, ...lines] = stderr.trimEnd().split('\n')
    expect(sentence).toMatch(/^holdfast: The values of the form are refused \(invalid: host, amount, size, disks\)\.$/)
    expect(lines).toEqual([
      '  host: Small letters',
      '  amount: Amount must be at most 10',
      expect.stringMatching(/^ {2}size: .* \(options: S, M, L\)$/),
      expect.stringMatching(/^ {2}disks\[1\]\.kind: .* \(options: ssd, tape\)$/),
    ])
  })

  it('names a field that the form does not have', async () => {
    const { code, stderr } = await run(['job', 'launch', 'Order', '-e', 'host=a', '-e', 'amonut=3'])
    expect(code).toBe(5)
    expect(stderr).toMatch(/amonut.*amount/)
    expect(stderr).not.toContain('{')
  })
})

it('a launch that is not refused warns of a value for which the form has no field', async () => {
  const forms = { 'order.yml': ORDER, 'disk.yml': DISK }
  const lax = await startServer({ forms, settings: { LAUNCH_UNKNOWN_FIELDS: 'warn' } })
  onTestFinished(() => lax.close())
  const person = newQuickPerson({ HOLDFAST_TOKEN: lax.admin, HOLDFAST_SERVER: lax.url })
  const { code, stderr } = await person.run(['job', 'launch', 'Order', '-e', 'host=a', '-e', 'amonut=3'])
  expect(code).toBe(0)
  expect(stderr).toContain('Warning: the form has no field called amonut; these values are not used.\n')
})

it.each([
  ['form show', ['form', 'show', 'order']],
  ['job launch', ['job', 'launch', 'order']],
])('%s with an unknown name ends with exit code 5', async (_what, args) => {
  const { code, stdout } = await run(args)
  expect([code, stdout]).toEqual([5, ''])
})

it.each([
  ['job', ['job', 'list', '--records', '0']],
  ['notification', ['notification', 'list', '--records', 'abc']],
])('%s list --records with something else than a number from 1 up ends with exit code 2', async (_what, args) => {
  const { code, stderr } = await run(args)
  expect([code, stderr]).toEqual([2, 'holdfast: --records must be a whole number from 1 up.\n'])
})

it.each(['0', '101'])('schedule next --count %s ends with exit code 2', async (count) => {
  const { code, stderr } = await run(['schedule', 'next', '1', '--count', count])
  expect([code, stderr]).toEqual([2, 'holdfast: --count must be a number from 1 to 100.\n'])
})
