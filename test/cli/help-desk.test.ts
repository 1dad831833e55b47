import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
