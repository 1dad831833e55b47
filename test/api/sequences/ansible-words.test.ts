import { expect, it } from 'vitest'
import { workflowForm } from '../../support/workflow-text.js'
import { workflowTests } from './workflow-tests.js'

/** Words that YAML 1.1, which ansible reads, and YAML 1.2 read as different values. */
const { given, forms, workflows, launch, endOf } = workflowTests()

const WORDS = 'mode: 0644\nenabled: no\nat: 1:30\nlarge: 1_000\n'
const VALUES = { mode: 420, enabled: false, at: 90, large: 1000 }
const nodeOf = (name: string) => `identifier: one
          unified_job_template: {name: ${name}.yml, type: job_template}`

forms['text.yml'] = workflowForm('text')
workflows['text.yml'] = `workflow_job_templates:
  - name: text
    extra_vars: ${JSON.stringify(`---\n${WORDS}`)}
    related:
      workflow_nodes:
        - ${nodeOf('text')}
`
forms['object.yml'] = workflowForm('object')
workflows['object.yml'] = `workflow_job_templates:
  - name: object
    extra_vars: {mode: 0644, enabled: no}
    related:
      workflow_nodes:
        - ${nodeOf('object')}
          diff_mode: on
          job_tags: [x, y]
          extra_data: {at: 1:30, large: 1_000}
`
forms['code.yml'] = workflowForm('code')
workflows['code.yml'] = `controller_workflows:
  - name: code
    survey_enabled: no
    extra_vars: {mode: 0644, enabled: no, at: 1:30, large: 1_000}
    simplified_workflow_nodes:
      - identifier: one
        all_parents_must_converge: yes
        diff_mode: no
        unified_job_template: code.yml
`
forms['field.yml'] = `{name: field, playbook: field.yml, roles: [default], fields: [{name: given, type: yaml}]}`

it.each([
  ['text', false],
  ['object', true],
  ['code', false],
] as const)('a workflow with variables as %s gives its nodes what ansible reads', async (name, diff) => {
  expect(await endOf(await launch(name))).toMatchObject({ status: 'success' })
  const order = await given.runner.orderOf(`${name}.yml`)
  expect(order.extravars).toMatchObject({ inline: VALUES })
  expect(order).toMatchObject({ diff, tags: name === 'object' ? 'x,y' : null })
})

it('a field of type yaml gives a playbook what ansible reads', async () => {
  await endOf(await launch('field', { given: WORDS }))
  expect((await given.runner.orderOf('field.yml')).extravars).toMatchObject({ inline: { given: VALUES } })
})
