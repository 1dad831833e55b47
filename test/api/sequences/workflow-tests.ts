import { afterAll, beforeAll } from 'vitest'
import { ADMIN_PASSWORD, type Product, startProduct } from '../../support/product.js'
import { type RestClient, signIn } from '../../support/rest.js'
import { ScriptedRunner } from '../../support/scripted-runner.js'
import { waitFor } from '../../support/wait.js'
import { type NodeText, workflowForm, workflowText } from '../../support/workflow-text.js'

const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops]}
  - {name: default, groups: []}
  - {name: bound, groups: [local/bound], runners: [north], credentials: [router]}
`

export interface WorkflowJob extends Record<string, unknown> {
  id: number
  status: string
  status_reason: string | null
  subjobs: number[]
  output: string
  extravars: Record<string, unknown>
}

export interface WorkflowNode {
  node: {
    identifier: string
    type: string
    status: string
    start: string | null
    end: string | null
    [key: string]: unknown
  }
  job: number | null
  extravars: Record<string, unknown>
  artifacts: Record<string, unknown>
}

/** What there is while the tests of a file run. */
interface Given {
  product: Product
  /** Does what the test says. */
  runner: ScriptedRunner
  ann: RestClient
  /** In the role ops. */
  bob: RestClient
  /** May use one runner and one credential. */
  bound: RestClient
}

/** A service, a runner and users for the tests of one file about workflows over HTTP. */
export function workflowTests() {
  const given = {} as Given
  /** The files of all tests, written before the service starts: it looks for changes once a second. */
  const forms: Record<string, string> = {}
  const workflows: Record<string, string> = {}

  beforeAll(async () => {
    given.product = await startProduct({
      config: CONFIG,
      withAgent: false,
      forms,
      workflows,
      controlPlane: { PROCESS_MAX_BUFFER_MB: '1' },
    })
    const { product } = given
    given.runner = await ScriptedRunner.join(product, 'north')
    for (const [username, groups] of [
      ['ann', []],
      ['bob', ['ops']],
      ['bound', ['bound']],
    ] as const) {
      await product.admin.post('/user', { username, password: ADMIN_PASSWORD, groups })
      given[username] = await signIn(product.address, username, ADMIN_PASSWORD)
    }
    for (const name of ['router', 'switch', 'other']) {
      await product.admin.post('/credential', { name, type: 'userpass', user: name, password: `password of ${name}` })
    }
  })

  afterAll(async () => {
    await given.runner.leave()
    await given.product.close()
  })

  const jobOf = (id: number) => given.product.admin.get<WorkflowJob>(`/job/${String(id)}?text=true`)
  const nodeOf = (id: number, identifier: string, as: RestClient = given.ann) =>
    as.get<WorkflowNode>(`/job/${String(id)}/node/${encodeURIComponent(identifier)}`)

  return {
    given,
    jobOf,
    nodeOf,
    /** A workflow and a form for it; both have the same name. */
    write(
      name: string,
      nodes: Readonly<Record<string, NodeText>>,
      more: { form?: Record<string, unknown>; extraVars?: Record<string, unknown> } = {},
    ): void {
      forms[`${name}.yml`] = workflowForm(name, more.form)
      workflows[`${name}.yml`] = workflowText(name, nodes, more.extraVars)
    },
    forms,
    workflows,
    async launch(name: string, values: Record<string, unknown> = {}, as: RestClient = given.ann): Promise<number> {
      const { id } = await as.post<{ id: number }>('/job', { formName: name, rawFormData: values })
      return id
    },
    endOf: (id: number) => given.product.waitForEnd(id) as Promise<WorkflowJob>,
    inStatus: (id: number, status: string) =>
      waitFor(`job ${String(id)} to be ${status}`, async () => {
        const job = await jobOf(id)
        return job.status === status ? job : null
      }),
    nodeIn: (id: number, identifier: string, status: string) =>
      waitFor(`node ${identifier} to be ${status}`, async () => {
        const node = await nodeOf(id, identifier)
        return node.node.status === status ? node : null
      }),
    statuses: (id: number, ...identifiers: string[]): Promise<string[]> =>
      Promise.all(identifiers.map(async (identifier) => (await nodeOf(id, identifier)).node.status)),
  }
}

/** The identifiers and statuses of the banners in an output. */
export const bannersIn = (output: string) =>
  [...output.matchAll(/^WORKFLOW NODE \[(.*?)\] \((.*?)\)/gm)].map(([, identifier, status]) => [identifier, status])
