import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Client } from '@holdfast/client'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { Run } from '../../control-plane/src/cli/commands/common.js'
import { answersOf } from '../../control-plane/src/cli/commands/job/launch/answers.js'
import { credentialNames } from '../../control-plane/src/cli/commands/job/launch/launch.js'
import { withOptionsSaid } from '../../control-plane/src/cli/commands/job/launch/refused-values.js'
import { RefusedError, UnreachableError, UsageError } from '../../control-plane/src/cli/errors.js'
import { type FakeService, startFakeService } from './fake-service.js'
import { type Person, newQuickPerson } from './run-cli.js'

let service: FakeService
let person: Person

beforeEach(async () => {
  service = await startFakeService()
  onTestFinished(() => service.stop())
  person = newQuickPerson({ HOLDFAST_TOKEN: 'script-token', HOLDFAST_SERVER: service.address })
})

const launch = (...args: readonly string[]) => person.run(['job', 'launch', 'Order', ...args])

const field = (name: string, more: object = {}) => ({ name, type: 'text', label: name, ...more })
const FORM = {
  name: 'Order',
  type: 'ansible',
  categories: [],
  description: 'Orders a machine',
  fields: [
    field('size', { type: 'radio', values: ['S', 'M'] }),
    field('pin', { type: 'password' }),
    field('disks', { type: 'list', subform: 'Disk' }),
  ],
  subforms: [{ name: 'Disk', fields: [field('kind', { type: 'enum', values: ['ssd', 'tape'] })] }],
}
const answerOf = (...forms: readonly object[]) => ({ forms, constants: {}, errors: [], warnings: [] })
const seenAt = (path: string) => service.seen.filter((one) => one.path === path)

describe('job launch', () => {
  it('says which values the form has no field for', async () => {
    service.override = () => ({ status: 200, body: { id: 3, unknown_fields: ['sise', 'kolor'] } })
    expect(await launch('-e', 'sise=S')).toEqual({
      code: 0,
      stdout: 'Launched job 3 of Order.\n',
      stderr: 'Warning: the form has no field called sise, kolor; these values are not used.\n',
    })
    service.override = () => ({ status: 200, body: { id: 4, unknown_fields: [] } })
    expect((await launch()).stderr).toBe('')
  })

  it('takes values from a file, of which -e replaces one, and names of credentials', async () => {
    const path = join(person.home, 'values.yml')
    writeFileSync(path, 'size: S\nnote: a\n')
    const args = ['--from-file', path, '-e', 'size=M', '--credential', 'login=db', '--credential', 'v=a=b']
    expect((await launch(...args)).code).toBe(0)
    const credentials = { login: 'db', v: 'a=b' }
    expect(service.seen.at(-1)?.body).toEqual({
      formName: 'Order',
      extravars: { size: 'M', note: 'a' },
      rawFormData: { size: 'M', note: 'a', ...credentials },
      credentials,
    })
  })

  it('has the switch for verbose output only among the variables, also when it comes as a value', async () => {
    await launch('-e', '{"__verbose__": false, "size": "S"}')
    expect(service.seen.at(-1)?.body).toEqual({
      formName: 'Order',
      extravars: { size: 'S', __verbose__: false },
      rawFormData: { size: 'S' },
    })
    await launch('-e', '{"__verbose__": false}', '--verbose')
    expect(service.seen.at(-1)?.body).toMatchObject({ extravars: { __verbose__: true }, rawFormData: {} })
  })

  it('with --print shows the values without passwords, and launches nothing', async () => {
    service.override = ({ path }) => (path === '/config/form' ? { status: 200, body: answerOf(FORM) } : null)
    const printed = await launch('--print', '-e', 'size=S', '-e', 'pin=1234')
    expect(printed).toEqual({
      code: 0,
      stdout: '{\n  "size": "S"\n}\n',
      stderr: 'Left out, because they are passwords: pin.\n',
    })
    expect(await launch('--print', '-e', 'size=S')).toMatchObject({ code: 0, stderr: '' })
    expect(seenAt('/job')).toEqual([])
    expect(seenAt('/config/form')[0]?.query.get('name')).toBe('Order')
  })

  it('with --print or --ask ends with exit code 5 when there is no such form', async () => {
    service.override = () => ({ status: 200, body: answerOf() })
    for (const option of ['--print', '--ask']) {
      expect(await launch(option)).toEqual({
        code: 5,
        stdout: '',
        stderr: 'holdfast: There is no form "Order" that you may launch.\n',
      })
    }
  })

  it('with --ask needs a terminal', async () => {
    service.override = () => ({ status: 200, body: answerOf(FORM) })
    const { code, stderr } = await launch('--ask')
    expect(code).toBe(2)
    expect(stderr).toContain('--ask needs a terminal. Give the values with -e or --from-file.')
    expect(seenAt('/job')).toEqual([])
  })
})

it.each([
  [true, false],
  [false, true],
])('questions need a terminal for the keys (%s) and one for the text (%s)', async (isTTY, isTerminal) => {
  const client = { getForm: () => Promise.resolve(answerOf(FORM)) } as unknown as Client
  const output = { isTerminal, color: false, columns: 80, write: () => Promise.resolve() }
  const stdin = Object.assign(Readable.from([]), { isTTY }) as unknown as NodeJS.ReadStream
  const run = { terminal: { environment: {}, stdin, stdout: output, stderr: output }, mayShowHelp: false, exitCode: 0 }
  const args = { form: 'Order', ask: true, print: false }
  await expect(answersOf(run as Run, client, args, {}, new Map())).rejects.toThrow(UsageError)
})

describe('a job that is given up', () => {
  it.each([[['launch', 'Order', '--follow']], [['relaunch', '1', '-f']], [['follow', '2']]])(
    'ends job %j with exit code 14 without --wait',
    async (args) => {
      service.addJob({ status: 'failed' })
      service.addJob({ status: 'abandoned', output: Buffer.from('so far\n') })
      service.override = ({ method }) =>
        method === 'POST' ? { status: 200, body: { id: 2, message: 'Job 1 was launched again as job 2' } } : null
      const { code, stdout, stderr } = await person.run(['job', ...args])
      expect({ code, stdout }).toEqual({ code: 14, stdout: 'so far\n' })
      expect(stderr).toContain('Job 2 ended abandoned after 3.40 s\n')
    },
  )
})

describe('names of credentials', () => {
  it('are given by field or variable', () => {
    expect(credentialNames([])).toBeUndefined()
    expect(credentialNames(['l=db', ' login = a=b', 'empty='])).toEqual({ l: 'db', login: ' a=b', empty: '' })
  })

  it.each(['=db', 'login', ''])('refuse %j', (text) => {
    expect(() => credentialNames([text])).toThrow(UsageError)
    expect(() => credentialNames([text])).toThrow(`--credential ${JSON.stringify(text)}: give key=name.`)
  })
})

describe('a launch whose values are refused', () => {
  const refusal = (details: Record<string, unknown>) =>
    new RefusedError('No.', 422, 'refused', { sentence: 'No.', details })
  /** The message of a launch that is refused, and how often its form was read. */
  async function said(error: Error, form: () => Promise<object> = () => Promise.resolve(answerOf(FORM))) {
    let read = 0
    const client = {
      getForm() {
        read += 1
        return form()
      },
    } as unknown as Client
    const launched = withOptionsSaid(
      client,
      () => Promise.resolve('Order'),
      () => Promise.reject(error),
    )
    const caught: unknown = await launched.catch((one: unknown) => one)
    return { caught, message: (caught as Error).message, read }
  }

  it('says the options of each field that has some, also in the rows of a list', async () => {
    const error = refusal({ missing: ['size', 'pin'], rowErrors: { disks: [{ index: 3, invalid: ['kind'] }] } })
    const { caught, message } = await said(error)
    expect(message.split('\n')).toEqual([
      'No.',
      '  size: a value is needed (options: S, M)',
      '  pin: a value is needed',
      '  disks[3].kind: this value is not accepted (options: ssd, tape)',
    ])
    expect(caught).toMatchObject({ status: 422, code: 'refused', refusal: error.refusal })
  })

  it('says the refusal without options when its form cannot be read', async () => {
    const error = refusal({ missing: ['size'] })
    const away = () => Promise.reject(new UnreachableError('away'))
    expect((await said(error, away)).message).toBe('No.\n  size: a value is needed')
    expect((await said(error, () => Promise.resolve(answerOf()))).message).toBe('No.\n  size: a value is needed')
    const bug = new TypeError('a bug')
    expect((await said(error, () => Promise.reject(bug))).caught).toBe(bug)
  })

  it.each([
    ['no details', new RefusedError('No.', 403, null)],
    ['other details', refusal({ busy: ['a'] })],
    ['another error', new UnreachableError('away')],
  ])('is left as it is where it has %s, and the form is not read', async (_what, error) => {
    expect(await said(error)).toMatchObject({ caught: error, read: 0 })
  })

  it('gives the answer when nothing is refused', async () => {
    const nothing = {} as Client
    const name = () => Promise.reject(new Error('nobody asks for the name'))
    expect(await withOptionsSaid(nothing, name, () => Promise.resolve({ id: 1 }))).toEqual({ id: 1 })
  })

  it('of a relaunch reads the name of the form from its job, without the output', async () => {
    service.addJob({ form: 'Order', status: 'failed' })
    service.override = ({ path, method }) => {
      if (path === '/config/form') return { status: 200, body: answerOf(FORM) }
      return method === 'POST' ? { status: 422, body: { error: 'No', details: { missing: ['size'] } } } : null
    }
    const { code, stderr } = await person.run(['job', 'relaunch', '1', '-e', 'size='])
    expect({ code, stderr }).toEqual({
      code: 5,
      stderr: 'holdfast: No.\n  size: a value is needed (options: S, M)\n',
    })
    expect(seenAt('/job/1').map(({ query }) => [...query])).toEqual([[['output', 'false']]])
    expect(seenAt('/config/form')[0]?.query.get('name')).toBe('Order')
  })
})
