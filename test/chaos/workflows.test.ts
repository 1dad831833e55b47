import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { ScriptedRunner } from '../support/scripted-runner.js'
import { waitFor } from '../support/wait.js'
import { type NodeText, workflowForm, workflowText } from '../support/workflow-text.js'
import { type Faults, createFaults } from './kit/preload/faults.js'
import { PROGRAMS } from './kit/preload/faults.js'
import { seeded } from './kit/seed.js'
import { covers } from '../interface/covers.js'

const FILE = 'test/chaos/workflows.test.ts'
/** Many starts of programs, on a machine that does other things too. */
const PATIENCE_MS = 300_000

/** Branches, a failure that is taken care of, a condition, another workflow and an approval, with data on every way. */
const NODES: Readonly<Record<string, NodeText>> = {
  root: { success: ['left', 'right', 'bad'] },
  left: { success: ['meet'] },
  right: { success: ['nested'] },
  nested: { workflow: 'inner.yml', success: ['meet'] },
  bad: { success: ['never'], failure: ['tidy'] },
  never: {},
  tidy: { success: ['off'] },
  off: { success: ['meet'], more: { if_extra_var: 'nothing' } },
  meet: { success: ['ask'], more: { all_parents_must_converge: true } },
  ask: { approval: { roles: ['default'], allowSelf: true }, success: ['last'] },
  last: {},
}
const PLAYBOOKS = ['root', 'left', 'right', 'bad', 'tidy', 'meet', 'last'].map((name) => `whole/${name}.yml`)
const INNER = ['one', 'two'].map((name) => `inner/${name}.yml`)

let product: Product
let faults: Faults
let runner: ScriptedRunner

beforeEach(async () => {
  product = await startProduct({
    withAgent: false,
    forms: { 'whole.yml': workflowForm('whole') },
    workflows: {
      'whole.yml': workflowText('whole', NODES),
      'inner.yml': workflowText('inner', { one: { success: ['two'] }, two: {} }),
    },
    prepare: async (folder) => {
      faults = await createFaults(folder)
      return faults.environments
    },
  })
  runner = await ScriptedRunner.join(product, 'scripted')
  for (const playbook of [...PLAYBOOKS, ...INNER]) {
    runner.scripts.set(playbook, { stats: { [playbook]: true, latest: playbook } })
  }
  runner.scripts.set('whole/bad.yml', { stats: { why: 'disk' }, exit: 2 })
})

afterEach(async () => {
  await runner.leave()
  await product.close()
})

const KILLS = 'kill -9 of the control plane at drawn moments: each node runs exactly once, and nothing of it is lost'
test(
  KILLS,
  seeded(FILE, KILLS, async (chance) => {
    covers('durable.restart')
    const ids = [await product.launch('whole'), await product.launch('whole')]
    const approved = new Set<number>()
    for (let kills = 0; kills < 8; kills += 1) {
      if (chance.next() < 0.5) {
        // Right after a commit, before anybody hears of it.
        const path = '*holdfast.db-wal'
        faults.arm({ operation: 'sync', program: PROGRAMS.controlPlane, path, action: 'kill-after', once: true })
        for (let commits = chance.between(0, 3); commits > 0; commits -= 1) await approveAll()
        await Promise.race([product.controlPlane.exited, pause(chance.between(50, 400))])
        faults.disarmAll()
      } else {
        await pause(chance.between(0, 300))
      }
      await product.controlPlane.stop('SIGKILL')
      await product.startControlPlane()
      await approveAll()
    }
    for (const id of ids) {
      await waitFor(`job ${String(id)} to end`, async () => {
        await approveAll()
        const { status } = await product.admin.get(`/job/${String(id)}?output=false`)
        return status !== 'running' && status !== 'approve'
      })
    }

    async function approveAll(): Promise<void> {
      for (const id of ids) {
        try {
          const { status } = await product.admin.request('POST', `/job/${String(id)}/approve`)
          if (status === 200) approved.add(id)
        } catch {
          // Killed meanwhile: the decision was stored, or is given again.
        }
      }
    }

    for (const id of ids) {
      const job = await product.waitForEnd(id)
      expect(job.status, String(job.output)).toBe('success')
      expect(job.subjobs).toHaveLength(PLAYBOOKS.length + 1)
      expect(job.approval).toMatchObject({ state: 'approved', decided_by: 'admin' })
      const banners = [...String(job.output).matchAll(/^WORKFLOW NODE \[(.*?)\] \((.*?)\)/gm)].map(([, name]) => name)
      expect(banners.filter((name) => name !== 'off' && name !== 'ask').sort()).toEqual([
        'bad',
        'last',
        'left',
        'meet',
        'nested',
        'one',
        'right',
        'root',
        'tidy',
        'two',
      ])
      const node = await product.admin.get<{ extravars: Record<string, unknown> }>(`/job/${String(id)}/node/last`)
      const received = [...PLAYBOOKS, ...INNER].filter((name) => name !== 'whole/last.yml' && name !== 'whole/bad.yml')
      for (const name of received) expect(node.extravars[name], name).toBe(true)
      expect(node.extravars).toMatchObject({ latest: 'whole/meet.yml', why: 'disk' })
    }
    for (const playbook of [...PLAYBOOKS, ...INNER]) expect(runner.countOf(playbook), playbook).toBe(ids.length)
    expect(runner.countOf('whole/never.yml')).toBe(0)
  }),
  PATIENCE_MS,
)
