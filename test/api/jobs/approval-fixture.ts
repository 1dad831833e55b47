import { afterAll, beforeAll, expect } from 'vitest'
import { addRunner } from '../runner-row.js'
import { type TestServer, startServer } from '../server.js'

/** The roles of the people. */
export const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops], options: {allowJobRelaunch: true}}
  - {name: dba, groups: [local/dba]}
  - {name: watchers, groups: [local/watchers], options: {showAllJobLogs: true}}
  - {name: managers, groups: [local/managers], options: {manageAllJobs: true}}
  - {name: default, groups: []}
`

/** A form with this approval, as its file has it. */
export const form = (name: string, approval: string | null) => `name: ${name}
type: ansible
roles: [default]
playbook: x.yml
fields: [{name: host, type: text}, {name: key, type: password}, {name: login, type: text, model: db.token}]
${approval === null ? '' : `approval: ${approval}`}
`
/** Forms with approvals of every kind. */
export const FORMS = {
  'plain.yml': form('plain', null),
  'ops.yml': form(
    'ops',
    '{title: "Deploy $(host)", message: "With $(key) and $(db.token) to $(nowhere)", roles: [ops]}',
  ),
  'both.yml': form('both', '{message: Look, roles: [ops, dba]}'),
  'self.yml': form('self', '{message: Look, roles: [ops], allowSelf: true}'),
  'anyone.yml': form('anyone', '{message: Look, roles: [public]}'),
  'nobody.yml': form('nobody', '{message: Look, roles: []}'),
}

/** A service for the tests of a file, with people of several roles and forms with approvals. */
export function useApprovals() {
  let server: TestServer
  const tokens: Record<string, string> = {}

  beforeAll(async () => {
    server = await startServer({ config: CONFIG, forms: FORMS })
    await addRunner(server, 'edge', { isDefault: true })
    const people = { ann: ['ops'], bob: ['ops'], dan: ['dba', 'ops'], eve: [], wat: ['watchers'], max: ['managers'] }
    for (const [name, groups] of Object.entries(people)) tokens[name] = (await server.addUser(name, groups)).token
    tokens.admin = server.admin
  })
  afterAll(() => server.close())

  const call = (who: string, method: string, path: string, json?: unknown) =>
    server.call(method, path, { token: tokens[who], json })
  const status = async (who: string, method: string, path: string) => (await call(who, method, path)).status
  async function launch(who: string, formName: string, extravars: Record<string, unknown> = {}): Promise<number> {
    const answer = await call(who, 'POST', '/job', { formName, rawFormData: extravars })
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('id')])
    return Number(answer.body.id)
  }
  const jobOf = async (id: number, who = 'admin') => (await call(who, 'GET', `/job/${id}?text=true`)).body
  const rowOf = (id: number) =>
    server.store.read.selectFrom('job').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const countOf = async (who: string) => Number((await call(who, 'GET', '/job/approvals')).text)
  const listed = async (who: string, query = '') =>
    ((await call(who, 'GET', `/job${query}`)).body.records as { id: number }[]).map(({ id }) => id)
  /** Ends everything that waits, so that a test can count. */
  async function clear(): Promise<void> {
    for (const id of await listed('admin', '?waiting=true')) await call('admin', 'POST', `/job/${id}/reject`)
  }
  return {
    get server() {
      return server
    },
    call,
    status,
    launch,
    jobOf,
    rowOf,
    countOf,
    listed,
    clear,
  }
}
