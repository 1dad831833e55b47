import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { covers } from '../interface/covers.js'
import { newQuickPerson } from './run-cli.js'

/** Launching from the command line what help desks launch: forms with files, looked up first. */
const FORM = `name: Deploy
description: Brings a package out
categories: [Operations]
playbook: deploy.yml
fields:
  - {name: package, type: file, label: Package, required: true}
  - {name: notes, type: file}
  - {name: stage, type: text, default: test, help: Where to}
`
const PARTS = `- {name: Parts, playbook: deploy.yml, fields: [{name: disks, type: list, subform: Disk}], wizard: [{subform: System}]}
- {name: System, type: subform, fields: [{name: image, type: file}]}
- {name: Disk, type: subform, fields: [{name: name, required: true}, {name: content, type: file, maxSize: 20}]}
`
let server: TestServer
beforeAll(async () => {
  server = await startServer({
    forms: { 'deploy.yaml': FORM, 'parts.yaml': PARTS },
    settings: { LAUNCH_VALIDATION: 'enforce' },
  })
})
afterAll(() => server.close())

const person = () => newQuickPerson({ HOLDFAST_TOKEN: server.admin, HOLDFAST_SERVER: server.url })

it('files are uploaded for their fields, byte for byte, and the launch names them', async () => {
  covers('launch.files', 'rule-3.unchanged')
  const { home, run } = person()
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 251))
  writeFileSync(join(home, 'app 1.tar.gz'), bytes)
  writeFileSync(join(home, 'notes.txt'), 'read me')
  const files = ['--file', `package=${join(home, 'app 1.tar.gz')}`, '--file', `notes=${join(home, 'notes.txt')}`]
  const { code, stdout, stderr } = await run(['job', 'launch', 'Deploy', ...files, '-e', 'stage=live', '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const { id } = JSON.parse(stdout) as { id: number }
  const { body: job } = await server.call('GET', `/job/${id}?text=true`, { token: server.admin })
  expect(job.extravars).toMatchObject({ stage: 'live', package: { originalname: 'app 1.tar.gz', size: 300_000 } })
  const stored = readdirSync(join(server.folder, 'uploads')).map((name) =>
    readFileSync(join(server.folder, 'uploads', name)),
  )
  expect(stored.some((content) => content.equals(bytes))).toBe(true)
})

it('a relaunch takes --file too: the field gets the new file, the others are used again', async () => {
  covers('rule-11.changes')
  const { home, run } = person()
  for (const name of ['old.tar.gz', 'new.tar.gz', 'notes.txt']) writeFileSync(join(home, name), `content of ${name}`)
  const notes = ['--file', `notes=${join(home, 'notes.txt')}`]
  const launched = await run([
    'job',
    'launch',
    'Deploy',
    '--file',
    `package=${join(home, 'old.tar.gz')}`,
    ...notes,
    '--json',
  ])
  const { id: first } = JSON.parse(launched.stdout) as { id: number }
  const file = ['--file', `package=${join(home, 'new.tar.gz')}`]
  const { code, stdout, stderr } = await run(['job', 'relaunch', String(first), ...file, '-e', 'stage=live', '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const { id } = JSON.parse(stdout) as { id: number }
  expect((await server.call('GET', `/job/${id}?text=true`, { token: server.admin })).body.extravars).toMatchObject({
    stage: 'live',
    package: { originalname: 'new.tar.gz' },
    notes: { originalname: 'notes.txt' },
  })
  const missing = await run(['job', 'relaunch', String(first), '--file', 'package=/no/such/file'])
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('there is no such file')])
})

it('files of wizard steps and of rows are named by their place, in a relaunch too', async () => {
  const { home, run } = person()
  for (const name of ['image', 'first', 'second', 'other']) writeFileSync(join(home, name), `content of ${name}`)
  const file = (key: string, name: string) => ['--file', `${key}=${join(home, name)}`]
  const rows = ['-e', '{"disks": [{"name": "a"}, {"name": "b"}]}']
  const launch = ['job', 'launch', 'Parts', ...rows, '--json', ...file('System.image', 'image')]
  const variablesOf = async ({ code, stdout, stderr }: { code: number | null; stdout: string; stderr: string }) => {
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const { id } = JSON.parse(stdout) as { id: number }
    const { body } = await server.call('GET', `/job/${id}`, { token: server.admin })
    return { id, variables: body.extravars }
  }
  const first = await variablesOf(
    await run([...launch, ...file('disks[0].content', 'first'), ...file('disks[1].content', 'second')]),
  )
  const disks = [
    { name: 'a', content: { originalname: 'first' } },
    { name: 'b', content: { originalname: 'second' } },
  ]
  expect(first.variables).toMatchObject({ image: { originalname: 'image' }, disks })
  const again = await variablesOf(
    await run([
      'job',
      'relaunch',
      String(first.id),
      '--json',
      ...file('image', 'other'),
      ...file('disks[1].content', 'other'),
    ]),
  )
  expect(again.variables).toMatchObject({
    image: { originalname: 'other' },
    disks: [disks[0], { name: 'b', content: { originalname: 'other' } }],
  })
  writeFileSync(join(home, 'large'), 'more than twenty bytes')
  const refused = await run([...launch, ...file('disks[1].content', 'large'), ...file('disks[7].content', 'other')])
  expect(refused.code).toBe(5)
  expect(refused.stderr).toContain('disks[1].content: content must be at most 20 B, it is 22 B')
  expect(refused.stderr).toContain('disks: disks[7].content: the list has no row [7]')
})

it.each([
  ['a path that is not there', 'package=/no/such/file', 'there is no such file'],
  ['a folder', 'package=/', 'is not a file'],
  ['no field', 'app.tar.gz', 'give field=path'],
])('%s ends with exit code 2 and a clear line, and nothing is launched', async (_what, given, words) => {
  const { code, stderr } = await person().run(['job', 'launch', 'Deploy', '--file', given])
  expect([code, stderr.split('\n').length]).toEqual([2, 2])
  expect(stderr).toContain(words)
})
