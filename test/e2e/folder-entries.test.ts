import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { ScriptedRunner } from '../support/scripted-runner.js'
import { waitFor } from '../support/wait.js'

/** An entry of the playbook folder that cannot travel: which jobs notice, and where it is said. */
let product: Product
let runner: ScriptedRunner

const form = (name: string, more = '') =>
  `name: ${name}\ntype: ansible\nroles: [default]\nplaybook: site.yml\ninventory: localhost,\nfields: []\n${more}`
const PYTHON = 'tools/venv/bin/python'

beforeAll(async () => {
  product = await startProduct({
    withAgent: false,
    forms: {
      'whole.yml': form('whole'),
      'narrow.yml': form('narrow', 'playbookFiles: [roles]\n'),
      'naming.yml': form('naming', `playbookFiles: [${PYTHON}]\n`),
    },
    playbooks: { 'site.yml': '[]', 'roles/web/tasks/main.yml': '[]', 'tools/venv/bin/activate': '' },
    prepare: async (folder) => {
      symlinkSync('/usr/bin/python3', join(folder, 'persistent/playbooks', PYTHON))
      return { controlPlane: {}, agent: {} }
    },
  })
  runner = await ScriptedRunner.join(product, 'scripted')
})
afterAll(async () => {
  await runner.leave()
  await product.close()
})

const endOf = async (name: string) => product.waitForEnd(await product.launch(name))

test('a probe and the list of forms for admins say it before a job does', async () => {
  const ready = async () => (await fetch(`${product.address}/api/v2/ready`)).json() as Promise<{ warnings?: string[] }>
  const warnings = await waitFor('the warning', async () => (await ready()).warnings)
  expect(warnings).toEqual([expect.stringMatching(/^1 entry of the playbook folder cannot travel/)])
  // The probe is for everybody.
  expect(warnings.join()).not.toContain('python')
  const forms = await product.admin.get<object>('/forms?fields=false')
  expect(forms).toMatchObject({ files_left_out: [{ path: PYTHON, reason: 'an absolute link' }], errors: [] })
})

test('a job that gets the folder runs without it and says so; one that does not get it says nothing', async () => {
  const said = `1 entry of the playbook folder did not travel to the runner: ${PYTHON} (an absolute link)`
  expect(await endOf('whole')).toMatchObject({ status: 'success', detail: said })
  expect(await endOf('narrow')).toMatchObject({ status: 'success', detail: null })
})

test('only a job that names it is refused, and its reason names it', async () => {
  const job = await endOf('naming')
  expect(job).toMatchObject({
    status: 'failed',
    status_reason: `The job needs ${PYTHON} of the playbook folder, which cannot travel to a runner (an absolute link)`,
  })
})
