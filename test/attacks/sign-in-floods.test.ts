import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { startLiveProber } from '../support/live-prober.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'

/**
 * Hundreds of wrong sign-ins at once against the real program, whose hashes cost as much as they do for users: 19 MiB of
 * memory and 20 ms each.
 */
const FLOOD = 400
/** Most sign-ins, one after the other, of each that floods. */
const MAX_ROUNDS = 10
/** Two hashes at a time, their connections, and garbage: far less than a hash for each sign-in, which would be 7.6 GB. */
const MAX_MEMORY_MIB = 250

let product: Product | null = null
afterEach(async () => {
  await product?.close()
  product = null
})

async function started(settings: Record<string, string>) {
  const made = await startProduct({ withAgent: false, controlPlane: settings })
  product = made
  const agent = new Agent({ maxSockets: Infinity })
  onTestFinished(() => agent.destroy())
  /** How many passwords were looked at so far. */
  let hashed = 0
  const signIn = (username: string, password: string, from: { localAddress?: string; forwarded?: string }) =>
    new Promise<{ status: number }>((resolve, reject) => {
      const sent = request(`${made.address}/api/v2/auth/login`, {
        agent,
        method: 'POST',
        localAddress: from.localAddress,
        headers: {
          'content-type': 'application/json',
          ...(from.forwarded === undefined ? {} : { 'x-forwarded-for': from.forwarded }),
        },
      })
      sent.on('error', reject).on('response', (response) => {
        const { statusCode: status = 0 } = response
        if (status === 401 || status === 200) hashed += 1
        response.resume().on('end', () => resolve({ status }))
      })
      sent.end(JSON.stringify({ username, password }))
    })
  return { made, signIn, hashed: () => hashed }
}

const memoryMib = (pid: number) =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

test.each<[string, Record<string, string>]>([
  ['with the usual limit of requests', {}],
  ['without a limit of requests', { AUTH_RATE_LIMIT: '0' }],
  ['behind a proxy that passes on what clients say', { TRUST_PROXY: '1', AUTH_RATE_LIMIT: '0' }],
])('a flood of wrong sign-ins from one network keeps nobody else waiting: %s', async (_what, settings) => {
  const { made, signIn, hashed } = await started(settings)
  const isProxied = 'TRUST_PROXY' in settings
  const before = memoryMib(made.controlPlane.pid)
  const prober = startLiveProber(made.address)
  onTestFinished(() => prober.close())
  await prober.waits()
  // One network of IPv6 has very many addresses, and a client may say that others stand before it.
  const attacker = (at: number) =>
    isProxied ? { forwarded: `203.0.113.${at % 250}, 2001:db8:1:2::${at.toString(16)}` } : { localAddress: '127.0.0.1' }
  let isOver = false
  // Each that is answered is followed by another one, until the right one is answered.
  const flood = Array.from({ length: FLOOD }, async (_, at) => {
    const statuses: number[] = []
    do statuses.push((await signIn(`nobody-${at}`, 'a wrong password', attacker(at))).status)
    while (!isOver && statuses.length < MAX_ROUNDS)
    return statuses
  })
  await expect.poll(hashed).toBeGreaterThan(0)
  const right = await signIn(
    'admin',
    ADMIN_PASSWORD,
    isProxied ? { forwarded: '192.0.2.1' } : { localAddress: '127.0.0.2' },
  )
  // Meanwhile others are answered, too.
  expect((await prober.waits()).count).toBeGreaterThan(0)
  prober.close()
  isOver = true
  expect(right.status).toBe(200)
  const statuses = (await Promise.all(flood)).flat()
  expect([...new Set(statuses)].filter((status) => ![401, 429, 503].includes(status))).toEqual([])
  // Most of the flood is refused without a hash.
  expect(statuses.filter((status) => status === 401).length).toBeLessThan(statuses.length / 2)
  expect(memoryMib(made.controlPlane.pid) - before).toBeLessThan(MAX_MEMORY_MIB)
})

test('a right sign-in gets through among wrong ones from hundreds of networks', async () => {
  const { made, signIn, hashed } = await started({ TRUST_PROXY: '1' })
  const before = memoryMib(made.controlPlane.pid)
  const flood = Array.from({ length: 390 }, (_, at) =>
    signIn(`nobody-${at}`, 'a wrong password', { forwarded: `198.51.${100 + (at % 2)}.${1 + (at >> 1)}` }),
  )
  await expect.poll(hashed).toBeGreaterThan(0)
  const right = await signIn('admin', ADMIN_PASSWORD, { forwarded: '192.0.2.1' })
  expect(right.status).toBe(200)
  const statuses = (await Promise.all(flood)).map(({ status }) => status)
  expect(new Set(statuses)).toEqual(new Set([401]))
  expect(memoryMib(made.controlPlane.pid) - before).toBeLessThan(MAX_MEMORY_MIB)
})
