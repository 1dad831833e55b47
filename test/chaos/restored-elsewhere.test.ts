import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startProgram } from '../support/process.js'
import { ADMIN_PASSWORD, ROOT } from '../support/product.js'
import { request, signIn } from '../support/rest.js'
import { type TestDatabase, createTestDatabase } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { expectExactly } from './kit/stored.js'

/** A backup becomes an installation on another host while a playbook runs: its runner comes back, or somebody says why not. */
const HOLDFAST = join(ROOT, 'control-plane/bin/holdfast.js')
/** What several nodes share. On SQLite the service makes both by itself. */
const GIVEN = { ENCRYPTION_SECRET: 'e'.repeat(40), ACCESS_TOKEN_SECRET: 'a'.repeat(40) }
const CLOSED = 'ENCRYPTION_SECRET is not the one that it was encrypted with, so no runner can connect'

let chaos: ChaosProduct
let there: TestDatabase | null = null
afterEach(async () => {
  await chaos.close()
  await there?.remove()
  there = null
})

type Settings = Readonly<Record<string, string>>

async function command(args: readonly string[], settings: Settings) {
  const program = startProgram(HOLDFAST, args, settings)
  const { code } = await program.exited
  return { code, said: program.said() }
}

/** Starts the control plane of the new host at the address that the runner knows. */
async function serve(settings: Settings): Promise<void> {
  const { product } = chaos
  product.controlPlane = startProgram(HOLDFAST, ['serve'], { ...settings, PORT: new URL(product.address).port })
  await waitFor('the control plane to be ready', async () => {
    if (!product.controlPlane.isRunning()) throw new Error(product.controlPlane.said())
    const answer = await request(product.address, 'GET', '/ready', null).catch(() => null)
    return answer?.status === 200
  })
  Object.assign(product, { admin: await signIn(product.address, 'admin', ADMIN_PASSWORD) })
}

test.each([
  { from: 'sqlite', to: 'sqlite', travels: 'in the backup' },
  { from: 'sqlite', to: 'sqlite', travels: 'as a setting' },
  { from: 'sqlite', to: 'postgres', travels: 'as a setting' },
  { from: 'postgres', to: 'sqlite', travels: 'as a setting' },
  { from: 'postgres', to: 'postgres', travels: 'as a setting' },
] as const)('from $from to $to, with the secret $travels', async ({ from, to, travels }) => {
  chaos = await startChaos({ database: from, ...(from === 'postgres' ? { controlPlane: GIVEN } : {}) })
  const { product } = chaos
  const { jobId, truth } = await chaos.launchSynthetic({ gates: [100] })
  await waitFor('output', async () => (await product.admin.raw(`/job/${jobId}/output?offset=0`)).bytes.length > 0)

  const before: Settings = {
    PERSISTENT_PATH: join(product.folder, 'persistent'),
    ...(product.databaseUrl === null ? {} : { DATABASE_URL: product.databaseUrl, ...GIVEN }),
  }
  const file = join(product.folder, 'all.backup')
  const withAll = ['config', 'forms', 'playbooks', 'secrets'].flatMap((part) => ['--with', part])
  expect(await command(['backup', file, ...(travels === 'in the backup' ? withAll : [])], before)).toMatchObject({
    code: 0,
  })
  await product.controlPlane.stop('SIGTERM')
  truth.openGate(100)

  const otherHost = join(product.folder, 'other-host')
  there = to === 'postgres' ? await createTestDatabase('', 'postgres') : null
  const host: Settings = {
    PERSISTENT_PATH: join(otherHost, 'persistent'),
    RTE_HEARTBEAT_SECONDS: '1',
    ...(there ? { DATABASE_URL: there.url, ACCESS_TOKEN_SECRET: GIVEN.ACCESS_TOKEN_SECRET } : {}),
  }
  mkdirSync(join(otherHost, 'persistent'), { recursive: true, mode: 0o700 })
  const made = join(product.folder, 'persistent/encryption-secret')
  const secret = existsSync(made) ? readFileSync(made, 'utf8').trim() : GIVEN.ENCRYPTION_SECRET

  if (travels === 'as a setting') {
    const wrong = { ...host, ENCRYPTION_SECRET: 'w'.repeat(40) }
    const restored = await command(['restore', file], wrong)
    expect(restored, restored.said).toMatchObject({ code: 0, said: expect.stringContaining(CLOSED) as string })
    const checked = await command(['check'], wrong)
    expect(checked, checked.said).toMatchObject({ code: 1, said: expect.stringContaining(CLOSED) as string })
    await serve(wrong)
    const ready = await request(product.address, 'GET', '/ready', null)
    expect(ready.body).toMatchObject({ warnings: [expect.stringMatching(/no runner can connect: bring back/)] })
    expect(product.controlPlane.said()).toContain('no runner can connect: bring back')
    await product.controlPlane.stop('SIGTERM')
  } else {
    const restored = await command(['restore', file], host)
    expect(restored, restored.said).toMatchObject({ code: 0, said: expect.not.stringContaining('Warning') as string })
  }

  await serve(travels === 'as a setting' ? { ...host, ENCRYPTION_SECRET: secret } : host)
  const ready = await request(product.address, 'GET', '/ready', null)
  expect(ready.body).toEqual({ status: 'ready' })
  await product.waitForRunner()
  expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
  await expectExactly({ ...product, folder: otherHost, databaseUrl: there?.url ?? null }, jobId, truth)
  expect(truth.starts()).toBe(1)
})
