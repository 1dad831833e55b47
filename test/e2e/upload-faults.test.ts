import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Faults, PROGRAMS, createFaults } from '../chaos/kit/preload/faults.js'
import { closeDatabase, databasePathOf, openDatabase, query } from '../support/database-file.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { type RestClient, signIn } from '../support/rest.js'
import { waitFor } from '../support/wait.js'

/** What disks, kills and days do to uploads and to the jobs that have them, at the control plane. */
const DAY_SECONDS = 24 * 3600

let product: Product
let admin: RestClient
let faults: Faults
let folder: string

beforeAll(async () => {
  product = await startProduct({
    withAgent: false,
    controlPlane: { JOB_RETENTION_DAYS: '3' },
    forms: { 'keep.yml': '{name: keep, playbook: p.yml, roles: [default], fields: [{name: doc, type: file}]}' },
    prepare: async (made) => {
      faults = await createFaults(made)
      return faults.environments
    },
  })
  folder = join(product.folder, 'persistent/uploads')
  admin = product.admin
})
afterAll(() => product.close())

const stored = () => readdirSync(folder)

/** The clock and the service go on by two days. The control plane must be stopped. */
async function letDaysPass(): Promise<void> {
  faults.moveClock(2 * DAY_SECONDS)
  const database = await openDatabase(databasePathOf(product), 'write')
  await query(database, 'update service_clock set time = time + ?', [2 * DAY_SECONDS * 1000])
  await closeDatabase(database)
}

/** Sessions that ended in the days between are gone. */
async function comeBackToToday(): Promise<void> {
  faults.moveClock(0)
  admin = await signIn(product.address, 'admin', ADMIN_PASSWORD)
}

async function send(bytes: Buffer): Promise<{ status: number; body: Record<string, unknown> }> {
  const form = new FormData()
  form.append('file', new Blob([new Uint8Array(bytes)]), 'a.bin')
  const response = await fetch(`${product.address}/api/v2/job/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin.token}` },
    body: form,
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe('a disk that fails', () => {
  test.each([
    ['is full while the file comes', 'write', '*/uploads/*.part', 'ENOSPC', 'upload_disk_full'],
    ['takes half of a write and no more', 'write', '*/uploads/*.part', 'short', 'upload_disk_full'],
    ['has no quota left for its user', 'write', '*/uploads/*.part', 'EDQUOT', 'upload_disk_full'],
    ['cannot make the file durable', 'sync', '*/uploads/*.part', 'EIO', 'upload_not_stored'],
    ['cannot give the file its name', 'rename', '*/uploads/*', 'EROFS', 'upload_not_stored'],
  ] as const)(
    'that %s: 503, nothing stays, and the next upload succeeds',
    async (_what, operation, path, action, code) => {
      const fault = faults.arm({ operation, program: PROGRAMS.controlPlane, path, action, once: false })
      const answer = await send(randomBytes(1_000_000))
      fault.disarm()
      expect(answer).toMatchObject({ status: 503, body: { code } })
      expect(stored()).toEqual([])
      expect((await send(randomBytes(1000))).status).toBe(200)
      for (const name of stored()) rmSync(join(folder, name))
    },
  )
})

test('an upload is there after a restart, and goes after a day without a job', async () => {
  const { body } = await send(randomBytes(1000))
  await product.controlPlane.stop('SIGKILL')
  await product.startControlPlane()
  expect(stored()).toEqual([body.filename])
  await product.controlPlane.stop('SIGTERM')
  await letDaysPass()
  await product.startControlPlane()
  await waitFor('it to go', () => stored().length === 0)
  await comeBackToToday()
})

test('a service that is killed in the middle of an upload leaves a part, which goes after a day', async () => {
  const sending = request(`${product.address}/api/v2/job/upload`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${admin.token}`,
      'content-type': 'multipart/form-data; boundary=b',
      'transfer-encoding': 'chunked',
    },
  })
  sending.on('error', () => undefined)
  sending.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nthe first bytes')
  await waitFor('the part', () => stored().length === 1)
  await product.controlPlane.stop('SIGKILL')
  await product.startControlPlane()
  expect(stored()).toEqual([expect.stringMatching(/^[0-9a-f]{32}\.part$/)])
  await product.controlPlane.stop('SIGTERM')
  await letDaysPass()
  await product.startControlPlane()
  await waitFor('it to go', () => stored().length === 0)
  await comeBackToToday()
  expect((await send(Buffer.from('x'))).status).toBe(200)
})
