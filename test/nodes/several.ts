import pg from 'pg'
import { type ChaosProduct, startChaos } from '../chaos/kit/chaos-product.js'
import { REAL_JOBS } from '../chaos/kit/real-job.js'
import { ADMIN_PASSWORD, type AnotherNode, type ProductOptions } from '../support/product.js'
import { type RestClient, signIn } from '../support/rest.js'
import { waitFor } from '../support/wait.js'

/** A control plane among several. */
export interface Node extends AnotherNode {
  readonly admin: RestClient
}

/** Several control planes on one PostgreSQL database and one folder, and an agent that dials whichever it is steered to. */
export interface SeveralNodes {
  readonly chaos: ChaosProduct
  /** Those that were not ended. */
  readonly nodes: Node[]
  /** The node that the agent dials. */
  readonly dialled: Node
  /** From now on the agent dials this node. */
  steerTo(node: Node): void
  /** From now on jobs are launched at this node, and it is asked for what became of them. */
  askAt(node: Node): void
  /** Ends a node; when it is dialled or asked, another one is from then on. */
  end(node: Node, signal: NodeJS.Signals): Promise<void>
  add(): Promise<Node>
  /** Ends connections of this name to the database, as a failing network would. @returns how many */
  cutDatabase(applicationName: string): Promise<number>
  /** What the database answers. */
  query<Row extends pg.QueryResultRow>(text: string, parameters?: unknown[]): Promise<Row[]>
  close(): Promise<void>
}

export async function startSeveral(count: number, options: ProductOptions = {}): Promise<SeveralNodes> {
  const chaos = await startChaos({ ...REAL_JOBS, database: 'postgres', ...options })
  const { product, proxy } = chaos
  const first: Node = { program: product.controlPlane, address: product.address, admin: product.admin }
  const nodes = [first]
  let dialled = first

  const steerTo = (node: Node): void => {
    dialled = node
    proxy.retarget(node.address)
  }
  const askAt = (node: Node): void => void Object.assign(product, { admin: node.admin })
  const add = async (): Promise<Node> => {
    const node = await product.startAnotherNode()
    const whole = { ...node, admin: await signIn(node.address, 'admin', ADMIN_PASSWORD) }
    nodes.push(whole)
    return whole
  }
  const query = async <Row extends pg.QueryResultRow>(text: string, parameters: unknown[] = []): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: product.databaseUrl ?? '' })
    await client.connect()
    try {
      return (await client.query<Row>(text, parameters)).rows
    } finally {
      await client.end()
    }
  }

  const several: SeveralNodes = {
    chaos,
    nodes,
    get dialled() {
      return dialled
    },
    steerTo,
    askAt,
    add,
    query,
    async end(node, signal) {
      nodes.splice(nodes.indexOf(node), 1)
      const [next] = nodes
      if (node === dialled && next) steerTo(next)
      if (node.admin === product.admin && next) askAt(next)
      await node.program.stop(signal)
    },
    async cutDatabase(applicationName) {
      const rows = await query(
        'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()',
        [applicationName],
      )
      return rows.length
    },
    close: () => chaos.close(),
  }
  try {
    for (let more = 1; more < count; more += 1) await add()
    await everybodySeen(several)
    return several
  } catch (error) {
    await chaos.close()
    throw error
  }
}

/** Every node sees all of them. */
export async function everybodySeen({ nodes }: SeveralNodes): Promise<void> {
  for (const { admin } of nodes) {
    await waitFor('every node to be seen', async () => (await nodesSeenBy(admin)).alive === nodes.length)
  }
}

/** How many nodes one of them sees, by its metrics. */
export async function nodesSeenBy(admin: RestClient): Promise<{ readonly alive: number; readonly dead: number }> {
  const text = (await admin.raw('/metrics')).bytes.toString()
  const count = (alive: boolean) =>
    Number(new RegExp(`^af_nodes\\{role="app",alive="${alive}"\\} (\\d+)`, 'm').exec(text)?.[1])
  return { alive: count(true), dead: count(false) }
}
