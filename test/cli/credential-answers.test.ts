import { describe, expect, it } from 'vitest'
import { cellsOf, fileWith, listOf, scriptWith } from './answering.js'

const stored = {
  id: 4 as number | null,
  name: 'db',
  type: 'database',
  user: 'app',
  password: '********',
  host: 'db.example' as string | null,
  port: 5432 as number | null,
  description: 'for the demo',
  source: 'database',
  overridden: false,
}
const ofFile = { ...stored, id: null, name: 'of the file', port: null, source: 'file' }
const error = { file: '/etc/credentials.yaml', line: 7 as number | null, reason: 'name is missing' }
const answers = {
  'GET /credential': {
    ...listOf(
      ofFile,
      stored,
      { ...ofFile, name: 'twice' },
      { ...stored, id: 5, name: 'twice', overridden: true },
      {
        ...stored,
        id: 6,
        name: '4',
        host: null,
      },
    ),
    errors: [error, { ...error, line: null, reason: 'cannot be read' }],
  },
  'POST /credential': stored,
  'PUT /credential/4': { ...stored, name: 'new name' },
  'PUT /credential/5': stored,
  'PUT /credential/6': stored,
  'DELETE /credential/4': { message: 'The credential was deleted' },
}
const input = 's3cret\n'

describe('credential list', () => {
  it('shows where each is from, and names the entries that were left out', async () => {
    const { run } = await scriptWith(answers)
    const { stdout, stderr } = await run('credential list')
    expect(cellsOf(stdout)).toEqual([
      ['id', 'name', 'type', 'user', 'host', 'from', 'description'],
      ['-', 'of the file', 'database', 'app', 'db.example', 'file', 'for the demo'],
      ['4', 'db', 'database', 'app', 'db.example:5432', 'database', 'for the demo'],
      ['-', 'twice', 'database', 'app', 'db.example', 'file', 'for the demo'],
      ['5', 'twice', 'database', 'app', 'db.example:5432', 'database, overridden', 'for the demo'],
      ['6', '4', 'database', 'app', ':5432', 'database', 'for the demo'],
    ])
    expect(stderr).toBe(
      'left out: /etc/credentials.yaml, line 7: name is missing\nleft out: /etc/credentials.yaml: cannot be read\n',
    )
  })

  it('gives a program all of it as JSON, and says nothing beside', async () => {
    const { run } = await scriptWith(answers)
    const { stdout, stderr } = await run('credential list --json')
    expect([JSON.parse(stdout), stderr]).toEqual([answers['GET /credential'], ''])
    const none = await scriptWith({ 'GET /credential': { ...listOf(), errors: [] } })
    expect((await none.run('credential list')).stdout).toBe('No credentials.\n')
  })
})

describe('credential create', () => {
  it.each(['userpass', 'ssh', 'vault', 'database', 'token', 'certificate'])('takes the type %s', async (type) => {
    const { run, changes } = await scriptWith(answers)
    const { stdout } = await run(`credential create db --type ${type} --password-stdin`, { input })
    expect(stdout).toBe('Added the credential db.\n')
    expect(changes()).toEqual([['POST /credential', { name: 'db', type, password: 's3cret' }]])
  })

  it.each([
    ['--user app --host h --description why', { user: 'app', host: 'h', description: 'why' }],
    ['--port 1', { port: 1 }],
    ['--port 99999', { port: 99_999 }],
    ['--db-type postgres', { options: { db_type: 'postgres' } }],
    ['--db-type mysql', { options: { db_type: 'mysql' } }],
    ['--db-name shop', { options: { db_name: 'shop' } }],
    ['--secure', { options: { secure: true } }],
    ['--no-secure', { options: { secure: false } }],
  ])('sends %s, and nothing that was not given: %j', async (options, body) => {
    const { run, changes } = await scriptWith(answers)
    expect((await run(`credential create db ${options} --password-stdin`, { input })).code).toBe(0)
    expect(changes()).toEqual([['POST /credential', { name: 'db', ...body, password: 's3cret' }]])
  })

  it('sends what is in the files of certificates', async () => {
    const { run, changes } = await scriptWith(answers)
    const files = `--ca-file ${fileWith('CA')} --certificate-file ${fileWith('CERT')} --password-file ${fileWith('k\n')}`
    expect((await run(`credential create db ${files}`)).code).toBe(0)
    expect(changes()).toEqual([
      ['POST /credential', { name: 'db', options: { ca: 'CA', certificate: 'CERT' }, password: 'k' }],
    ])
  })

  it('takes no secret as an argument', async () => {
    const { run, seen } = await scriptWith(answers)
    const { code, stderr } = await run('credential create db --password s3cret')
    expect([code, seen]).toEqual([2, []])
    expect(stderr).not.toContain('s3cret')
  })

  it.each([
    ['--port 0', '--port must be a number from 1 to 65535.'],
    ['--port 100000', '--port must be a number from 1 to 65535.'],
    ['--port http', '--port must be a number from 1 to 65535.'],
    ['--ca-file /nowhere/ca', "/nowhere/ca cannot be read: ENOENT: no such file or directory, open '/nowhere/ca'"],
  ])('with %s sends nothing', async (options, sentence) => {
    const { run, seen } = await scriptWith(answers)
    const { code, stderr } = await run(`credential create db ${options} --password-stdin`, { input })
    expect([code, stderr, seen]).toEqual([2, `holdfast: ${sentence}\n`, []])
  })
})

describe('credential update', () => {
  it.each([
    ['db --name other', 4, { name: 'other' }],
    ['db --user new', 4, { user: 'new' }],
    ['db --password-stdin', 4, { password: 's3cret' }],
    ['twice --user new', 5, { user: 'new' }],
    ['6 --user new', 6, { user: 'new' }],
    // A name goes before an id.
    ['4 --user new', 6, { user: 'new' }],
  ])('%s changes number %i, and nothing else of it: %j', async (command, id, body) => {
    const { run, changes } = await scriptWith(answers)
    const { code, stdout } = await run(`credential update ${command}`, { input })
    expect([code, stdout]).toEqual([0, `Changed the credential ${id === 4 ? 'new name' : 'db'}.\n`])
    expect(changes()).toEqual([[`PUT /credential/${id}`, body]])
  })

  it('asks for a new secret when it is told to', async () => {
    const { run, changes } = await scriptWith(answers)
    const { stderr } = await run('credential update db --ask-password', { typed: ['new', 'new'] })
    expect(stderr).toBe('Secret of db: \nOnce more: \n')
    expect(changes()).toEqual([['PUT /credential/4', { password: 'new' }]])
  })

  it('needs something to change', async () => {
    const { run, changes } = await scriptWith(answers)
    const { code, stderr } = await run('credential update db', { typed: ['new', 'new'] })
    expect([code, changes()]).toEqual([2, []])
    expect(stderr).toBe('holdfast: Say what to change: holdfast credential update --help lists the options.\n')
  })

  it.each([
    ['of the file', 'The credential of the file is in credentials.yaml of the control plane; change it there.'],
    ['nothing', 'There is no credential with the id or name nothing; holdfast credential list shows them.'],
  ])('does not know how to change %s', async (name, sentence) => {
    const { run, changes } = await scriptWith(answers)
    const { code, stderr } = await run(['credential', 'update', name, '--user', 'new'])
    expect([code, stderr, changes()]).toEqual([5, `holdfast: ${sentence}\n`, []])
  })
})

it('credential delete says which one was deleted', async () => {
  const { run, changes } = await scriptWith(answers)
  expect((await run('credential delete db')).stdout).toBe('The credential was deleted (db)\n')
  expect(changes()).toEqual(['DELETE /credential/4'])
})
