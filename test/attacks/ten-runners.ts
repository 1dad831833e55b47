import { expect } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { ScriptedRunner } from '../support/scripted-runner.js'
import { waitFor } from '../support/wait.js'

const RUNNERS = 10

/** The product with ten approved runners, each of which runs a job as long as the attacks go on. */
export interface TenRunners {
  readonly product: Product
  readonly runners: readonly ScriptedRunner[]
  /** Where runners dial. */
  readonly url: string
  /** All ten are on their first connection and run their job. */
  expectUndisturbed(): Promise<void>
  /** Ends the ten jobs: each is what its runner wrote, to the byte, and nobody had to dial again. To be called last. */
  expectExact(): Promise<void>
  close(): Promise<void>
}

const FORM = (name: string) => `name: ${name}
type: ansible
roles: [default]
playbook: ${name}.yml
runner: ${name}
inventory: localhost,
fields: []
`

/** @param settings of the control plane, and further forms (file name → YAML) */
export async function startTenRunners(
  settings: {
    readonly controlPlane?: Readonly<Record<string, string>>
    readonly forms?: Readonly<Record<string, string>>
  } = {},
): Promise<TenRunners> {
  const names = Array.from({ length: RUNNERS }, (_, index) => `good-${index}`)
  const product = await startProduct({
    withAgent: false,
    forms: { ...Object.fromEntries(names.map((name) => [`${name}.yml`, FORM(name)])), ...settings.forms },
    playbooks: Object.fromEntries(names.map((name) => [`${name}.yml`, ''])),
    ...(settings.controlPlane ? { controlPlane: settings.controlPlane } : {}),
  })
  const runners: ScriptedRunner[] = []
  const jobs: number[] = []
  for (const name of names) {
    const runner = await ScriptedRunner.join(product, name)
    runner.scripts.set(`${name}.yml`, { holds: true, output: outputOf(name), events: [{ task: name }] })
    runners.push(runner)
    jobs.push(await product.launch(name))
  }
  for (const [index, name] of names.entries()) await runners[index]?.orderOf(`${name}.yml`)

  async function expectUndisturbed(): Promise<void> {
    expect(product.controlPlane.isRunning()).toBe(true)
    expect(runners.map(({ connections }) => connections)).toEqual(runners.map(() => 1))
    const { records } = await product.admin.get<{ records: { id: number; status: string }[] }>('/job')
    expect(records.filter(({ id, status }) => jobs.includes(id) && status === 'running')).toHaveLength(RUNNERS)
  }

  return {
    product,
    runners,
    url: `${product.address.replace('http', 'ws')}/api/v2/rte/socket`,
    expectUndisturbed,
    async expectExact() {
      await expectUndisturbed()
      for (const [index, name] of names.entries()) {
        await runners[index]?.release(`${name}.yml`)
        const job = await product.waitForEnd(jobs[index] ?? 0)
        expect(job).toMatchObject({ status: 'success', status_reason: null, detail: null, output: outputOf(name) })
        const events = await waitFor('the events', () =>
          product.admin.get<{ count: number }>(`/job/${jobs[index]}/events`),
        )
        expect(events.count).toBe(1)
      }
      expect(runners.map(({ connections, runs }) => [connections, runs.length])).toEqual(runners.map(() => [1, 1]))
    },
    async close() {
      await Promise.all(runners.map((runner) => runner.leave()))
      await product.close()
    },
  }
}

const outputOf = (name: string) => Array.from({ length: 500 }, (_, line) => `${name} writes line ${line}\n`).join('')
