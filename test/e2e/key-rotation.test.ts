import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AgentProcess } from '../agent/agent-process.js'
import { type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'

/** Keys of both sides are replaced while a playbook runs and programs are killed; nobody approves anything by hand. */
let product: Product
let gate: string

const form = (name: string) =>
  `name: ${name}\ntype: ansible\nroles: [default]\nplaybook: ${name}.yml\ninventory: localhost,\nansibleCredentials: login\n`
const play = (task: string) => `- hosts: all\n  connection: local\n  gather_facts: false\n  tasks: [${task}]\n`

beforeAll(async () => {
  product = await startProduct({
    forms: { 'quick.yml': form('quick'), 'long.yml': form('long') },
    playbooks: { 'quick.yml': play('{ansible.builtin.debug: }') },
    prepare: async (folder) => {
      gate = join(folder, 'gate')
      mkdirSync(join(folder, 'persistent/playbooks'), { recursive: true })
      writeFileSync(
        join(folder, 'persistent/playbooks/long.yml'),
        play(`{ansible.builtin.raw: "until [ -e ${gate} ]; do sleep 0.1; done"}`),
      )
      return { controlPlane: {}, agent: {} }
    },
  })
  await product.admin.post('/credential', { name: 'login', user: 'u', password: 'a stored password' })
})
afterAll(() => product.close())

const statePath = () => join(product.folder, 'rte-state')
const command = (...args: string[]) => AgentProcess.command(args, { RTE_STATE_PATH: statePath() })
const fingerprintOfRunner = async () => {
  const { records } = await product.admin.get<{ records: { fingerprint: string; state: string }[] }>('/runner')
  expect(records.map((runner) => runner.state)).toEqual(['approved'])
  return records[0]?.fingerprint ?? ''
}
const serviceKey = () => product.admin.get<{ fingerprint: string; previous: string[] }>('/service/key')
const runs = async () => expect((await product.waitForEnd(await product.launch('quick'))).status).toBe('success')

test('the key of the service is rotated twice, with kill -9 in the middle; the runner follows, its playbook goes on', async () => {
  const first = (await serviceKey()).fingerprint
  expect((await command('trust')).output).toBe(`${first}\n`)
  const job = await product.launch('long')
  await waitFor('the playbook to run', async () => (await product.admin.get(`/job/${job}`)).dispatch !== null)
  await product.agent.stop('SIGKILL')
  const second = await product.admin.post<{ fingerprint: string }>('/service/key/rotate', { fingerprint: first })
  expect((await product.admin.request('POST', '/service/key/rotate', { fingerprint: first })).status).toBe(409)
  const rotating = product.admin.request('POST', '/service/key/rotate', {}).catch(() => null)
  await product.controlPlane.stop('SIGKILL')
  await rotating
  await product.startControlPlane()
  const { fingerprint, previous } = await serviceKey()
  expect([fingerprint, ...previous]).toContain(second.fingerprint)
  expect(previous).toContain(first)
  product.startAgent()
  await product.waitForRunner()
  expect((await command('trust')).output).toBe(`${fingerprint}\n`)
  writeFileSync(gate, '')
  expect((await product.waitForEnd(job)).status).toBe('success')
})

test("the runner's keys are rotated; wherever the agent is killed, it is the same approved runner", async () => {
  const before = await fingerprintOfRunner()
  const kept = (name: string) => join(product.folder, `kept-${name}`)
  await product.agent.stop('SIGKILL')
  const next = (await command('rotate-key')).output.trim()
  expect((await command('rotate-key')).output.trim()).toBe(next)
  for (const name of ['identity', 'identity-next']) copyFileSync(join(statePath(), name), kept(name))
  product.startAgent()
  await waitFor('the new keys to be its own', () => !existsSync(join(statePath(), 'identity-next')))
  expect(await fingerprintOfRunner()).toBe(next)
  expect(next).not.toBe(before)
  await product.waitForRunner()
  await runs()

  // As if it had been killed after the control plane took the keys and before it had kept them itself.
  await product.agent.stop('SIGKILL')
  for (const name of ['identity', 'identity-next']) copyFileSync(kept(name), join(statePath(), name))
  product.startAgent()
  await waitFor('the new keys to be its own again', () => !existsSync(join(statePath(), 'identity-next')))
  await product.waitForRunner()
  expect(await fingerprintOfRunner()).toBe(next)
  await runs()

  // As if it had been killed before it removed the second file.
  await product.agent.stop('SIGKILL')
  copyFileSync(kept('identity-next'), join(statePath(), 'identity-next'))
  product.startAgent()
  await product.waitForRunner()
  await runs()
  expect(await fingerprintOfRunner()).toBe(next)
  expect(existsSync(join(statePath(), 'identity-next'))).toBe(false)
  expect(readFileSync(join(statePath(), 'identity'), 'utf8')).not.toContain(before)
})
