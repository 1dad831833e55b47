import { createHmac } from 'node:crypto'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { type RestClient, signIn } from '../support/rest.js'
import { waitFor } from '../support/wait.js'

/** Webhooks of two control planes, real processes on one database. No runner is there: a job ends as soon as it is launched. */
const SECRET = 'a secret of both sides'
const FORM = 'name: doomed\ntype: ansible\nroles: [public]\nplaybook: x.yml\nfields: []\n'

let product: Product
let other: { readonly address: string; readonly program: { stop(signal: NodeJS.Signals): Promise<void> } }
let atOther: RestClient
let receiver: Server
let port = 0
/** Which job each delivery told of, in the order in which they came. */
const told: number[] = []

const listen = async (): Promise<void> => {
  receiver = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      const [, time = '', signature = ''] =
        /^t=(\d+),v1=(\w+)$/.exec(String(request.headers['x-holdfast-signature'])) ?? []
      const expected = createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex')
      if (signature === expected) told.push((JSON.parse(body) as { job: { id: number } }).job.id)
      response.writeHead(signature === expected ? 204 : 400).end()
    })
  }).listen(port, '127.0.0.1')
  await new Promise((resolve) => receiver.once('listening', resolve))
  port = (receiver.address() as AddressInfo).port
}
const closeReceiver = (): Promise<unknown> => {
  receiver.closeAllConnections()
  return new Promise((resolve) => receiver.close(resolve))
}

async function launch(admin: RestClient): Promise<number> {
  return (await admin.post<{ id: number }>('/job', { formName: 'doomed', rawFormData: {} })).id
}

beforeAll(async () => {
  await listen()
  product = await startProduct({
    withAgent: false,
    database: 'postgres',
    forms: { 'doomed.yml': FORM },
    controlPlane: { WEBHOOK_ALLOWED_HOSTS: '127.0.0.1' },
  })
  other = await product.startAnotherNode()
  atOther = await signIn(other.address, 'admin', ADMIN_PASSWORD)
  const target = { name: 'chat', url: `http://127.0.0.1:${port}/hook`, events: ['job.ended'], secret: SECRET }
  await product.admin.post('/notification-target', target)
})
afterAll(async () => {
  await product?.close()
  await closeReceiver()
})

test('the end of each job is told once, whichever node it ended at', async () => {
  const jobs: number[] = []
  for (let round = 0; round < 10; round += 1) {
    jobs.push(...(await Promise.all([launch(product.admin), launch(atOther)])))
  }
  await waitFor('all of them to be told', () => new Set(told).size === jobs.length)
  // Nothing more waits, so nothing comes later.
  await waitFor('nothing to wait', async () => {
    const { records } = await product.admin.get<{ records: { state: string }[] }>('/notification')
    return records.length === jobs.length && records.every(({ state }) => state === 'sent')
  })
  expect([...told].sort((a, b) => a - b)).toEqual([...jobs].sort((a, b) => a - b))
})

test('what a node had to tell when it was killed is told by the other one', async () => {
  told.length = 0
  await closeReceiver()
  const jobs = [await launch(atOther), await launch(atOther), await launch(atOther)]
  await other.program.stop('SIGKILL')
  await listen()
  await waitFor('all of them to be told', () => new Set(told).size === jobs.length)
  expect([...told].sort((a, b) => a - b)).toEqual(jobs)
})
