import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createWorkflows } from '../../../control-plane/src/sequences/workflows/loader.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-workflows-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
}

const good = (name: string) =>
  JSON.stringify({
    workflow_job_templates: [
      {
        name,
        related: {
          workflow_nodes: [{ identifier: 'a', unified_job_template: { name: 'a.yml', type: 'job_template' } }],
        },
      },
    ],
  })
const BAD = 'workflow_job_templates: 3'

function opened() {
  const warned: unknown[] = []
  const log = { warn: (fields: object) => void warned.push(fields) }
  return { warned, workflows: createWorkflows({ folder, clock: { now: () => Date.now() }, log }) }
}

test('workflows are found in folders of six levels, and not below', async () => {
  await put('1/2/3/4/5/6/there.yml', good('There'))
  await put('1/2/3/4/5/6/7/below.yml', good('Below'))
  const { workflows } = opened()
  expect(await workflows.find('There')).toMatchObject({ workflow: { name: 'There' } })
  expect(await workflows.find('Below')).toHaveProperty('problem')
})

test('a mistake is logged once, until something about the mistakes changes', async () => {
  await put('bad.yml', BAD)
  const { warned, workflows } = opened()
  const errors = await workflows.errors()
  expect(errors).toMatchObject([{ file: 'bad.yml' }])
  expect(warned).toEqual(errors)
  await workflows.find('Anything')
  await put('good.yml', good('Good'))
  expect(await workflows.find('Good')).toMatchObject({ workflow: { name: 'Good' } })
  expect(warned).toHaveLength(1)
  await put('worse.yml', BAD)
  expect(await workflows.errors()).toHaveLength(2)
  expect(warned).toHaveLength(3)
})

test('a folder without mistakes is not in the log', async () => {
  await put('good.yml', good('Good'))
  const { warned, workflows } = opened()
  expect(await workflows.errors()).toEqual([])
  expect(warned).toEqual([])
})
