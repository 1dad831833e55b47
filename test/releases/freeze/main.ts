import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { SOCKET_PATH, type ServerMessage } from '@holdfast/protocol'
import { Kysely } from 'kysely'
import pg from 'pg'
import { migrate } from '../../../control-plane/src/store/migrations/index.js'
import { createConnections } from '../../../control-plane/src/store/postgres/postgres-connections.js'
import { createPostgresDialect } from '../../../control-plane/src/store/postgres/postgres-dialect.js'
import { postgresConfigOf } from '../../../control-plane/src/store/postgres/postgres-url.js'
import type { Database } from '../../../control-plane/src/store/schema.js'
import { type PostgresServer, startPostgres } from '../../support/postgres.js'
import { closeDatabase, databasePathOf, openDatabase, query } from '../../support/database-file.js'
import { type Product, startProduct } from '../../support/product.js'
import { RawAgent, newIdentity } from '../../support/raw-agent.js'
import { waitFor } from '../../support/wait.js'
import { FROZEN } from '../frozen.js'
import { INSTALLATION, SECRETS, everythingOf } from '../installation.js'
import { packAgent } from './agent.js'
import { statementsOf } from './statements.js'

/**
 * Freezes the release of this clone as test data, so that later releases are tried against it: a database with a bit of
 * everything, made by the product itself; what the control plane said about it, and to a runner; and the runner agent.
 * To be run before a release is published, and never again for that release: `npx tsx test/releases/freeze/main.ts`.
 */
const write = (name: string, data: string | Buffer): void => writeFileSync(join(FROZEN, name), data)
const pack = (data: string | Buffer): Buffer => gzipSync(data, { level: 9 })

const folder = mkdtempSync(join(tmpdir(), 'holdfast-freeze-'))
mkdirSync(FROZEN, { recursive: true })
try {
  await packAgent(join(FROZEN, 'agent.tar.gz'))
  await freezeSqlite()
  await freezePostgres()
  await freezeMessages()
} finally {
  rmSync(folder, { recursive: true })
}

async function freezeSqlite(): Promise<void> {
  const product = await startProduct({ ...INSTALLATION, controlPlane: SECRETS, database: 'sqlite' })
  try {
    await freezeAnswers(product, 'answers-sqlite.json.gz')
    const file = join(folder, 'holdfast.db')
    const database = await openDatabase(databasePathOf(product), 'write')
    await query(database, 'vacuum into ?', [file])
    await closeDatabase(database)
    write('holdfast.db.gz', pack(readFileSync(file)))
  } finally {
    await product.close()
  }
}

async function freezePostgres(): Promise<void> {
  const server = await startPostgres()
  try {
    const product = await startProduct({ ...INSTALLATION, controlPlane: SECRETS, database: server })
    try {
      await freezeAnswers(product, 'answers-postgres.json.gz')
      write('postgres.sql.gz', pack(await statementsOf(server.urlOf('postgres'), await tablesOf(server))))
    } finally {
      await product.close()
    }
  } finally {
    await server.close()
  }
}

/** Fills an installation, asks for all of it, and ends its programs. */
async function freezeAnswers(product: Product, name: string): Promise<void> {
  await fill(product)
  await product.agent.stop('SIGTERM')
  await waitFor('the runner to be gone', async () => {
    const { records } = await product.admin.get<{ records: { online: boolean }[] }>('/runner')
    return records.every(({ online }) => !online)
  })
  write(name, pack(`${JSON.stringify(await everythingOf(product.admin), null, 1)}\n`))
  await product.controlPlane.stop('SIGTERM')
}

/** Jobs of each type, some of which wait for an approval, and everything else that people store. */
async function fill({ admin, launch, waitForEnd }: Product): Promise<void> {
  await admin.post('/user', {
    username: 'ann',
    password: 'a password of ann',
    groups: ['ops'],
    email: 'ann@example.com',
  })
  await admin.post('/credential', { name: 'db', type: 'userpass', user: 'sam', password: 'the password of db' })
  await admin.post('/credential', { name: 'vault', type: 'vault', password: 'the password of vault' })
  const events = ['job.ended']
  const url = 'https://hooks.example.com/holdfast'
  await admin.post('/notification-target', {
    name: 'hook',
    url,
    events,
    secret: 'the secret of the target',
    enabled: false,
  })
  const values = { who: 'the schedule' }
  await admin.post('/schedule', { name: 'nightly', form: 'Greet', cron: '0 3 * * *', paused: true, values })
  await admin.post('/schedule', { name: 'once', form: 'Greet', at: '2099-01-01T00:00:00Z', values })
  await admin.post('/runner/join-tokens', { name: 'spare' })
  const waits = async (id: number) => {
    await waitFor('an approval', async () => (await admin.get(`/job/${id}`)).status === 'approve')
    return id
  }
  await waitForEnd(await launch('Greet', { who: 'world', pin: 'the pin of a launch' }))
  await waitForEnd(await launch('Fail'))
  await waitForEnd(await launch('Secret'))
  const approved = await waits(await launch('Ask'))
  await admin.post(`/job/${approved}/approve`)
  await waitForEnd(approved)
  const rejected = await waits(await launch('Ask'))
  await admin.post(`/job/${rejected}/reject`)
  for (const form of ['Steps', 'Flow']) {
    const id = await waits(await launch(form))
    await admin.post(`/job/${id}/approve`)
    await waitForEnd(id)
    // The same once more, which is left waiting.
    await waits(await launch(form))
  }
  await waits(await launch('Ask'))
}

/** The statements that make the tables, which the server itself does not give. */
async function tablesOf(server: PostgresServer): Promise<string[]> {
  const client = new pg.Client({ connectionString: server.urlOf('postgres') })
  await client.connect()
  await client.query('create database empty')
  await client.end()
  const statements: string[] = []
  const database = new Kysely<Database>({
    dialect: createPostgresDialect(createConnections(postgresConfigOf(server.urlOf('empty')), 'migrate', 2)),
    log: ({ query: { sql } }) => void (/^create /i.test(sql) && statements.push(sql)),
  })
  await migrate(database)
  await database.destroy()
  return statements
}

/** Everything that a control plane says to a runner, from the challenge to the end of two jobs. */
async function freezeMessages(): Promise<void> {
  const product = await startProduct({ ...INSTALLATION, withAgent: false })
  try {
    const { token } = await product.admin.post<{ token: string }>('/runner/join-tokens', { name: 'frozen' })
    const url = product.address.replace(/^http/, 'ws') + SOCKET_PATH
    const agent = await RawAgent.join(url, newIdentity('frozen'), { join_token: token })
    const heard = <Type extends ServerMessage['type']>(type: Type, job: number) =>
      waitFor(`${type} of job ${job}`, () =>
        agent.messages.find((one) => one.type === type && JSON.stringify(one).includes(`"job_id":${job},`)),
      )
    agent.say({
      type: 'inventory',
      jobs: [{ job_id: 900, run_id: 'a'.repeat(32), output: 0, events: 0, ended: false }],
    })
    await agent.next('resume')
    const { epoch } = await agent.next('welcome')
    const claim = async (form: string, values: Record<string, unknown> = {}) => {
      const job_id = await product.launch(form, values)
      await heard('offer', job_id)
      const { run_id } = await product.admin.get<{ run_id: string }>(`/job/${job_id}`)
      agent.say({ type: 'claimed', job_id, run_id })
      agent.sendFrame(epoch, job_id, 'some output\n')
      await heard('ack', job_id)
      return job_id
    }
    await claim('Greet', { who: 'world', pin: 'the pin of a launch' })
    const aborted = await claim('Fail')
    await product.admin.post(`/job/${aborted}/abort`)
    await heard('abort', aborted)
    write('control-plane.json', `${JSON.stringify(agent.messages, null, 1)}\n`)
  } finally {
    await product.close()
  }
}
