import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type Socket, connect } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startLiveProber } from '../support/live-prober.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { ScriptedRunner } from '../support/scripted-runner.js'
import { waitFor } from '../support/wait.js'

/** One user opens a hundred streams in three sessions and reads none of them, while a job writes a lot. */
const STREAMS = 50
const OUTPUT = `${'x'.repeat(99)}\n`.repeat(200_000)
/** If each stream kept the output, this would be 1 GB. */
const MAX_MEMORY_MIB = 250

let product: Product
let runner: ScriptedRunner
beforeAll(async () => {
  product = await startProduct({
    withAgent: false,
    forms: Object.fromEntries(
      ['read', 'unread'].map((name) => [
        `${name}.yml`,
        `name: ${name}\ntype: ansible\nplaybook: ${name}.yml\nroles: [default]\nfields: []\n`,
      ]),
    ),
  })
  runner = await ScriptedRunner.join(product, 'north')
})
afterAll(async () => {
  await runner?.leave()
  await product?.close()
})

/** Sends a request of which nothing is ever read. */
async function ask(path: string, token: string): Promise<Socket> {
  const { hostname, port } = new URL(product.address)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined).pause()
  await once(socket, 'connect')
  socket.write(`GET /api/v2${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`)
  return socket
}

const memoryMib = () =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${product.controlPlane.pid}/status`, 'utf8'))?.[1]) / 1024

test('streams that nobody reads keep no memory, and delay neither the job nor those who read it', async () => {
  await product.admin.post('/user', { username: 'bob', password: ADMIN_PASSWORD, groups: [] })
  const bobs = await Promise.all(['a', 'b', 'c'].map(() => signIn(product.address, 'bob', ADMIN_PASSWORD)))
  const tokenOf = (at: number) => bobs[Math.floor(at / 20)]?.token ?? ''
  for (const playbook of ['read.yml', 'unread.yml']) runner.scripts.set(playbook, { output: OUTPUT, holds: true })
  const read = await product.launch('read')
  const unread = (await bobs[0]?.post<{ id: number }>('/job', { formName: 'unread', rawFormData: {} }))?.id ?? 0
  for (let at = 0; at < STREAMS; at += 1) {
    await ask(`/job/${unread}/output?follow=true`, tokenOf(at))
    await ask('/events', tokenOf(at))
  }
  await waitFor('the streams', async () => {
    const { body } = await product.admin.request('GET', '/metrics')
    return String(body).includes(`\nholdfast_live_streams ${STREAMS}\n`)
  })
  const before = memoryMib()
  const prober = startLiveProber(product.address)
  onTestFinished(() => prober.close())
  await prober.waits()

  const followed = fetch(`${product.address}/api/v2/job/${read}/output?follow=true`, {
    headers: { authorization: `Bearer ${product.admin.token}` },
  })
  await Promise.all(['unread.yml', 'read.yml'].map((playbook) => runner.release(playbook)))
  const text = await (await followed).text()
  expect(text.endsWith(OUTPUT.slice(-1000))).toBe(true)
  expect(text.length).toBeGreaterThanOrEqual(OUTPUT.length)
  expect(await product.waitForEnd(unread)).toMatchObject({ status: 'success' })
  expect(memoryMib() - before).toBeLessThan(MAX_MEMORY_MIB)
  expect((await prober.waits()).count).toBeGreaterThan(0)
  prober.close()
})
