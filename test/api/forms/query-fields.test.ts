import pg from 'pg'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestDatabase, createTestDatabase } from '../../support/test-database.js'
import { type TestServer, startServer } from '../server.js'

/** A field asks a database: from the form to the rows and back, and again at the launch. */
const FORM = `name: machines
type: ansible
playbook: x.yml
roles: [public]
fields:
  - { name: site, type: text }
  - name: machine
    type: query
    dbConfig: { name: inventory, type: postgres }
    query: "select name, cpus from machine where site = '$(site)' order by name"
    valueColumn: name
  - name: many
    type: query
    dbConfig: inventory
    query: select n from generate_series(1, 20000) n
    dependencies: [{ name: site, values: [everywhere] }]
`
let database: TestDatabase
let server: TestServer
let ann: string

beforeAll(async () => {
  database = await createTestDatabase(tmpdir(), 'postgres')
  const url = new URL(database.url)
  await ask('create table machine (site text, name text, cpus int)')
  await ask("insert into machine values ('berlin', 'web', 4), ('berlin', 'db', 8), ('essen', 'old', 1)")
  server = await startServer({ forms: { 'machines.yaml': FORM }, settings: { LAUNCH_VALIDATION: 'enforce' } })
  await server.writeConfig(
    'roles:\n  - { name: admin, groups: [local/admins] }\n  - { name: public, groups: [local/users] }\n',
  )
  const { status } = await server.call('POST', '/credential', {
    token: server.admin,
    json: {
      name: 'inventory',
      type: 'database',
      host: url.hostname,
      port: Number(url.port),
      user: url.username,
      password: url.password,
      options: { db_type: 'postgres', db_name: url.pathname.slice(1) },
    },
  })
  expect(status).toBeLessThan(300)
  ann = (await server.addUser('ann', ['users'])).token
})
afterAll(async () => {
  await server.close()
  await database.remove()
})

async function ask(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(sql)
  await client.end()
}

async function choicesAt(site: string, field = 'machine'): Promise<unknown> {
  const { body } = await server.call('POST', '/forms/machines/evaluate', {
    token: ann,
    json: { rawFormData: { site }, wait: 30 },
  })
  return (body.fields as Record<string, { choices?: unknown; waiting?: string }>)[field]
}

const launch = (site: string, machine: string) =>
  server.call('POST', '/job', { token: ann, json: { formName: 'machines', rawFormData: { site, machine } } })

test('the rows of a database are the choices of a field, for the value of another one', async () => {
  expect(await choicesAt('berlin')).toMatchObject({
    choices: [
      { name: 'db', cpus: 8 },
      { name: 'web', cpus: 4 },
    ],
  })
  expect(await choicesAt("' or '1'='1")).toMatchObject({ choices: [] })
})

test('a launch asks again, and uses the new answer of the database', async () => {
  const refused = await launch('berlin', 'old')
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([422, expect.stringContaining('machine')])
  expect((await launch('berlin', 'web')).status).toBe(200)
  await ask("delete from machine where name = 'web'")
  expect((await launch('berlin', 'web')).status).toBe(422)
})

test('more rows than a form may get are no choices', async () => {
  expect(await choicesAt('everywhere', 'many')).toMatchObject({
    waiting: expect.stringContaining('more than') as string,
  })
})
