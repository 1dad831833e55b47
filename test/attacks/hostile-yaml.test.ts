import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GOOD_YAML, REFUSED_YAML } from '../support/hostile-yaml.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { type RestClient, signIn } from '../support/rest.js'

/**
 * Texts of YAML that are made to end the process that reads them. V8 does not throw an error for some of them: it ends
 * the process. So the service under attack is a process of its own, and the same process has to answer afterwards.
 */

const GOOD = '- {name: Good, type: ansible, playbook: p.yml, roles: [public], fields: [{name: x, type: text}]}\n'
const SETTINGS = `
name: Settings
type: ansible
playbook: p.yml
roles: [public]
fields: [{name: opts, type: yaml, label: Options}, {name: note, type: text}]
`

let product: Product
let user: RestClient
beforeAll(async () => {
  product = await startProduct({
    withAgent: false,
    forms: { 'a-good.yml': GOOD, 'settings.yml': SETTINGS },
    playbooks: { 'p.yml': '- hosts: all\n' },
    controlPlane: { AUTH_RATE_LIMIT: '0', LAUNCH_VALIDATION: 'enforce' },
  })
  await product.admin.post('/user', { username: 'bob', password: ADMIN_PASSWORD, groups: [] })
  user = await signIn(product.address, 'bob', ADMIN_PASSWORD)
})
afterAll(() => product.close())

/** The process that answers is the one that was there before. */
async function expectTheSameProcess(pid: number): Promise<void> {
  expect((await fetch(`${product.address}/api/v2/live`)).status).toBe(200)
  expect(product.controlPlane.pid).toBe(pid)
  expect(product.controlPlane.isRunning(), product.controlPlane.said().slice(-2000)).toBe(true)
}

const evaluate = async (opts: string) => {
  const { body } = await user.request('POST', '/forms/Settings/evaluate', { rawFormData: { opts }, wait: 0 })
  return (body as { fields: { opts: { errors: { type: string; description: string }[]; value: unknown } } }).fields.opts
}

describe('a user types into a field of YAML', () => {
  test('twenty thousand brackets, twice: the field is refused, and says why', async () => {
    const { pid } = product.controlPlane
    for (const _ of [1, 2]) {
      const { errors } = await evaluate('['.repeat(20_000))
      expect(errors).toEqual([
        { type: 'validYaml', description: expect.stringMatching(/^Options must be valid YAML: line 1: .*100 levels/) },
      ])
      const launch = { formName: 'Settings', rawFormData: { opts: '['.repeat(20_000) } }
      const refused = await user.request('POST', '/job', launch)
      expect(refused.status).toBe(422)
      expect(JSON.stringify(refused.body)).toContain('Options must be valid YAML: line 1')
      await expectTheSameProcess(pid)
    }
  })

  test.each(Object.entries(REFUSED_YAML))('%s: the field is refused', async (_what, text) => {
    const { pid } = product.controlPlane
    // The largest are larger than this body may be, and are sent as a launch.
    const launch = { formName: 'Settings', rawFormData: { opts: text } }
    const { status, body } = await user.request('POST', '/job', launch)
    expect([413, 422]).toContain(status)
    if (status === 422) expect(JSON.stringify(body)).toContain('Options must be valid YAML')
    await expectTheSameProcess(pid)
  })

  test.each(Object.entries(GOOD_YAML))('%s: the field is good', async (_what, [text, value]) => {
    expect(await evaluate(text)).toMatchObject({ errors: [], value })
  })
})

describe('a file of forms', () => {
  const form = (name: string, text: string) =>
    writeFileSync(join(product.folder, 'persistent/forms', `${name}.yml`), text)
  const look = () =>
    product.admin.get<{
      records: { name: string }[]
      errors: { file: string; line: number | null; reason: string }[]
    }>('/forms')

  test('that is broken in any of these ways is named with line and reason, and the other forms are there', async () => {
    const { pid } = product.controlPlane
    const names = Object.keys(REFUSED_YAML).map((_, at) => `broken-${at}`)
    for (const [at, text] of Object.values(REFUSED_YAML).entries()) form(names[at] ?? '', text)
    for (const _ of [1, 2]) {
      const { records, errors } = await look()
      expect(records.map(({ name }) => name)).toEqual(['Good', 'Settings'])
      expect(errors.map(({ file }) => file).sort()).toEqual(names.map((name) => `${name}.yml`).sort())
      for (const { reason, line, file } of errors) {
        expect(reason, file).toMatch(/\w/)
        if (!reason.includes('too large')) expect(line, file).toBeGreaterThan(0)
      }
      await expectTheSameProcess(pid)
    }
  })

  test('stays broken after a restart, and the service starts', async () => {
    await product.controlPlane.stop('SIGTERM')
    await product.startControlPlane()
    const { records, errors } = await look()
    expect(records.map(({ name }) => name)).toEqual(['Good', 'Settings'])
    expect(errors).toHaveLength(Object.keys(REFUSED_YAML).length)
    await expectTheSameProcess(product.controlPlane.pid)
  })
})
