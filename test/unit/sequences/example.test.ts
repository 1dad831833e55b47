import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'
import { libraryOf } from '../../../control-plane/src/sequences/workflows/library.js'
import { parseWorkflowFile } from '../../../control-plane/src/sequences/workflows/parse-workflow-file.js'
import { ROOT } from '../../support/product.js'

const EXAMPLES = join(ROOT, 'control-plane/examples')
const read = (path: string) => readFileSync(join(EXAMPLES, path), 'utf8')

it('the example loads, its form finds it, and its playbooks are there', () => {
  const file = { name: 'release.yml', ...parseWorkflowFile('release.yml', read('workflows/release.yml')) }
  const library = libraryOf([file], [])
  expect(library.errors).toEqual([])
  const [placed] = parseFormFile('release.yml', read('forms/release.yml')).forms
  const found = library.find(placed?.form.type === 'workflow' ? placed.form.workflow : '')
  const nodes = 'workflow' in found ? found.workflow.nodes : []
  const playbooks = nodes.flatMap((node) => (node.type === 'job_template' ? [node.playbook] : []))
  expect(playbooks).toHaveLength(4)
  for (const playbook of playbooks) expect(existsSync(join(EXAMPLES, 'playbooks', playbook)), playbook).toBe(true)
})
