import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newQuickPerson } from '../../cli/run-cli.js'
import { covers } from '../../interface/covers.js'
import { waitFor } from '../../support/wait.js'
import { type TestServer, startServer } from '../server.js'

/** What forms need of the world around them, also those that are written as in older versions of the family. */
const FORMS: Readonly<Record<string, string>> = {
  'old.yml': `name: Old
type: ansible
playbook: x.yml
varsFiles: [sites.yml, gone.yml]
credentials: { vc: vcenter, backup: 'veeam_prod,veeam_dev' }
ansibleCredentials: root
vaultCredentials: [vaulted, { name: vaulted2, id: two }]
fields:
  - { name: city, type: query, query: select name from city, dbConfig: { name: CONN1, type: mysql } }
  - { name: place, type: query, expression: "fn.fnReadYamlFile('places.yml')", jq: '.places' }
  - { name: rows, type: table, subform: Row, query: select 1 as name, dbConfig: CMDB }
  - { name: flat, type: table, subform: Row, default: [] }
  - { name: here, type: local, expression: "'$(city)'.length" }
  - { name: sent, type: local_out, expression: "'$(city)'" }
  - { name: login, type: credential, expression: "'vcenter'" }
  - { name: chosen, type: enum, values: [a, b], asCredential: true }
`,
  'row.yml': 'name: Row\ntype: subform\nfields: [{ name: name, type: query, query: select 2, dbConfig: ROWS }]\n',
  'plain.yml': 'name: Plain\ntype: ansible\nplaybook: x.yml\nfields: [{ name: a, type: local, expression: "1 + 1" }]\n',
  'steps.yml': `name: Steps
type: multistep
steps:
  - { name: one, playbook: x.yml, credentials: { db: step-db }, varsFiles: [sites.yml] }
  - { name: two, type: awx, template: a }
`,
  // A choice without options.
  'table.yml': `name: Table
type: ansible
playbook: x.yml
fields:
  - { name: users, type: table, tableFields: [{ name: user, type: enum }] }
`,
}

const NEEDS = [
  {
    form: 'Old',
    needs: [
      { feature: 'vars files', fields: [], names: ['sites.yml', 'gone.yml'] },
      {
        feature: 'credentials',
        fields: ['login', 'chosen'],
        names: ['vcenter', 'veeam_prod,veeam_dev', 'root', 'vaulted', 'vaulted2'],
      },
      { feature: 'database', fields: ['city', 'rows'], names: ['CONN1 (mysql)', 'CMDB'] },
      { feature: 'files', fields: ['place'], names: ['fn.fnReadYamlFile'] },
      { feature: 'jq', fields: ['place'], names: [] },
    ],
  },
  { form: 'Row', needs: [{ feature: 'database', fields: ['name'], names: ['ROWS'] }] },
  {
    form: 'Steps',
    needs: [
      { feature: 'other system', fields: [], names: ['awx'] },
      { feature: 'vars files', fields: [], names: ['sites.yml'] },
      { feature: 'credentials', fields: [], names: ['step-db'] },
    ],
  },
]

let server: TestServer
beforeAll(async () => {
  server = await startServer({ forms: FORMS })
  await mkdir(join(server.folder, 'vars'), { recursive: true })
  await writeFile(join(server.folder, 'vars/sites.yml'), 'SITES: [a, b]\n')
  await writeFile(join(server.folder, 'playbooks/x.yml'), '- hosts: all\n')
})
afterAll(() => server.close())

interface FormList {
  readonly needs?: unknown
  readonly errors?: readonly { form: string | null; line: number | null; reason: string }[]
}

test('GET /forms tells admins the needs of each form, and which forms lack files of constants', async () => {
  covers('form.needs', 'form.vars-files')
  const list = await waitFor('the forms', async () => {
    const { body } = await server.call('GET', '/forms', { token: server.admin })
    return body.count === 3 ? (body as FormList) : null
  })
  expect(list.needs).toEqual(NEEDS)
  expect(list.errors).toEqual([
    expect.objectContaining({ form: 'Table', line: 5, reason: expect.stringContaining('of type subform') as string }),
    expect.objectContaining({ form: 'Old', reason: 'varsFiles "gone.yml": there is no such file' }),
  ])
  const user = await server.addUser('ann')
  const { body } = await server.call('GET', '/forms', { token: user.token })
  expect([body.needs, body.errors]).toEqual([undefined, undefined])
})

test('form check says the same without a server', async () => {
  covers('form.needs')
  const { run } = newQuickPerson()
  const folder = join(server.folder, 'forms')
  const answer = await run(['form', 'check', folder, '--json'])
  expect(answer.code).toBe(1)
  const { forms } = JSON.parse(answer.stdout) as { forms: { name: string; needs: object[] }[] }
  const needing = forms.filter(({ needs }) => needs.length > 0).map(({ name, needs }) => ({ form: name, needs }))
  expect(needing).toEqual(NEEDS)

  const { stdout } = await run(['form', 'check', folder])
  const [table, constants, ...others] = stdout.split('\n')
  expect(table).toMatch(
    /table\.yml, line 5, form Table: fields\.0 tableFields\.0 an enum field needs values.*of type subform/,
  )
  expect(constants).toMatch(/form Old: varsFiles "gone\.yml": there is no such file$/)
  expect(others).toEqual([
    'Old needs files of constants below VARS_FILES_PATH (sites.yml, gone.yml)',
    'Old needs stored credentials (vcenter, veeam_prod,veeam_dev, root, vaulted, vaulted2): login, chosen',
    'Old needs databases (CONN1 (mysql), CMDB): city, rows',
    'Old needs files below FORM_FILES_PATH (fn.fnReadYamlFile): place',
    'Old needs jq: place',
    'Row needs databases (ROWS): name',
    'Steps needs another system to run its jobs (awx)',
    'Steps needs files of constants below VARS_FILES_PATH (sites.yml)',
    'Steps needs stored credentials (step-db)',
    '4 forms are good; wrong: 2.',
    '',
  ])
})
