import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { credentialNames } from '../../control-plane/src/cli/commands/job/launch/launch.js'
import { UsageError } from '../../control-plane/src/cli/errors.js'
import { serviceOfFile } from './answering.js'

const { service, person } = await serviceOfFile()

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

  it('takes names with blanks, and the rows of a list as JSON', async () => {
    const rows = '{"disks": [{"kind": "ssd", "old name": "b"}]}'
    expect((await launch('-e', 'first name=Ann Lee', '-e', rows)).code).toBe(0)
    expect(service.seen.at(-1)?.body).toMatchObject({
      rawFormData: { 'first name': 'Ann Lee', disks: [{ kind: 'ssd', 'old name': 'b' }] },
    })
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

  it('with --ask needs a terminal', async () => {
    service.override = () => ({ status: 200, body: answerOf(FORM) })
    const { code, stderr } = await launch('--ask')
    expect(code).toBe(2)
    expect(stderr).toContain('--ask needs a terminal. Give the values with -e or --from-file.')
    expect(seenAt('/job')).toEqual([])
  })
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
