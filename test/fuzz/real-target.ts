import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ADMIN_PASSWORD, ROOT, type Product, startProduct } from '../support/product.js'
import { mainThreadMs } from '../bench/cpu.js'
import { createCallers } from './callers.js'
import { contractProblems } from './contract.js'
import { type OpenApi, type Operation, operationsOf } from './document.js'
import { watchLive } from './live-watch.js'
import { INSPECTABLE } from './inspect.js'
import { judgeLog } from './judge.js'
import { createKeeper } from './keeper.js'
import { readFigures } from './figures.js'
import { CONFIG, PLAYBOOKS, formFiles, workflowFiles } from './setting.js'
import type { Target } from './target.js'
import { createWorld } from './world.js'

/** What stands before ansible-playbook on the runner: jobs that cost almost nothing. */
const QUICK_ANSIBLE = fileURLToPath(new URL('./ansible', import.meta.url))
const TOKEN_SECRET = 'signs the tokens of this run only'

/** The product as it is installed, with a runner, forms of every kind, accounts of every right, and some jobs. */
export async function startRealTarget(): Promise<{ readonly target: Target; readonly product: Product }> {
  const product = await startProduct({
    // How much is stored is the size of the file.
    database: 'sqlite',
    forms: formFiles(),
    playbooks: PLAYBOOKS,
    workflows: workflowFiles(),
    config: CONFIG,
    controlPlane: {
      LAUNCH_VALIDATION: 'enforce',
      UPLOAD_MAX_GB: '1',
      // Requests choose where they come from, so that the limits can be met by some and not by all.
      TRUST_PROXY: '1',
      AUTH_RATE_LIMIT: '10',
      // Nobody listens there, so a delivery ends at once.
      WEBHOOK_ALLOWED_HOSTS: '127.0.0.1',
      ACCESS_TOKEN_EXPIRATION: '24h',
      ACCESS_TOKEN_SECRET: TOKEN_SECRET,
      ...INSPECTABLE,
    },
    agent: { PATH: `${QUICK_ANSIBLE}:${process.env['PATH'] ?? ''}`, RTE_MAX_JOBS: '4' },
  })
  try {
    return { product, target: await targetOf(product) }
  } catch (error) {
    await product.close()
    throw error
  }
}

async function targetOf(product: Product): Promise<Target> {
  const { hostname: host, port } = new URL(product.address)
  const operations = operationsOf(await product.admin.get<OpenApi>('/docs/json'))
  const world = createWorld()
  const callers = await createCallers(product, world, TOKEN_SECRET)
  const keeper = createKeeper(product, world, callers, operations)
  await product.admin.post('/credential', { name: 'router', type: 'userpass', user: 'admin', password: ADMIN_PASSWORD })
  for (const formName of ['plain', 'real', 'slow']) await product.admin.post('/job', { formName, rawFormData: {} })
  await keeper.mend()
  const live = watchLive(product.address)
  let read = { controlPlane: 0, agent: 0 }
  return {
    address: { host, port: Number(port) },
    operations,
    world,
    account: callers.account,
    secrets: { paths: [product.folder, ROOT] },
    folder: product.folder,
    contract: contractProblems,
    isReachable,
    complaints() {
      return (['controlPlane', 'agent'] as const).flatMap((name) => {
        const said = product[name].said()
        // A line that is still being written is read the next time.
        const end = said.lastIndexOf('\n') + 1
        const lines = said.slice(read[name], end).split('\n')
        read = { ...read, [name]: end }
        const ended = product[name].isRunning() ? [] : [`the ${name} ended; see ${join(product.folder, `${name}.log`)}`]
        return [...ended, ...judgeLog(lines).map((problem) => `${name}: ${problem}`)]
      })
    },
    mend: () => keeper.mend(),
    async measure() {
      // Reading the figures holds the service up: that is nobody's request.
      await live.look()
      const figures = await readFigures(product)
      await live.forget()
      return figures
    },
    live: {
      waits: () => live.seen(),
      look: () => live.look(),
      mainThread: () => mainThreadMs(product.controlPlane.pid),
      close: () => live.close(),
    },
  }
}

/** Answers that the document declares and that these settings, or one caller alone, cannot bring about. */
const UNREACHABLE: readonly string[] = [
  // So many checks at once that their queue is full.
  'POST /job 429',
  // Only requests with a living session count, and each of these ends one.
  'POST /auth/logout 429',
  // An account that is deleted in the very moment of its change.
  'PUT /profile 409',
  // Of the runner with jobs alone, and when these end in that moment it would be gone.
  'DELETE /runner/{id} 409',
]

function isReachable(operation: Operation, status: number): boolean {
  if (operation.isPublic && status === 401 && operation.method === 'GET') return false
  // It takes thousands of requests of one stranger.
  if (status === 429 && operation.method === 'GET') return false
  return !UNREACHABLE.includes(`${operation.key} ${status}`)
}

/** Asks the control plane to stop, which it must do whatever was sent to it. Far beyond any machine's slowness it is ended. */
export async function stopControlPlane({ controlPlane }: Product, patienceMs: number): Promise<string[]> {
  const giveUp = new AbortController()
  const stopped = controlPlane.stop('SIGTERM').then(() => true)
  const late = pause(patienceMs, false, { signal: giveUp.signal }).catch(() => false)
  const hasStopped = await Promise.race([stopped, late])
  giveUp.abort()
  if (hasStopped) return []
  await controlPlane.stop('SIGKILL')
  return ['the control plane did not stop when it was asked to']
}
