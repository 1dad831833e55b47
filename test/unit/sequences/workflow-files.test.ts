import { expect, test } from 'vitest'
import { libraryOf } from '../../../control-plane/src/sequences/workflows/library.js'
import { parseWorkflowFile } from '../../../control-plane/src/sequences/workflows/parse-workflow-file.js'
import { covers } from '../../interface/covers.js'
import { Run, playbook } from './graph.js'

const template = (name: string, type: string) => ({ unified_job_template: { name, type } })
/** A node of a playbook in the syntax of a file. */
const node = (identifier: string, more: object = {}, related: object = {}) => {
  return { identifier, ...template(`${identifier}.yml`, 'job_template'), related, ...more }
}
const to = (...identifiers: string[]) => identifiers.map((identifier) => ({ identifier }))
const workflow = (name: string, ...nodes: unknown[]) => ({ name, related: { workflow_nodes: nodes } })
const parse = (...workflows: unknown[]) =>
  parseWorkflowFile('team/w.yml', JSON.stringify({ workflow_job_templates: workflows }, null, 1))

/** The first node of the only workflow. */
const nodeOf = (more: object, ofWorkflow: object = {}) =>
  parse({ ...workflow('W', node('a', more)), ...ofWorkflow }).workflows[0]?.workflow.nodes[0]

test('a file is read as configuration as code has it', () => {
  const text = `
controller_workflows:
  - name: Release
    organization: Default
    inventory: hosts.ini
    extra_vars: {colour: red}
    simplified_workflow_nodes:
      - identifier: sync
        unified_job_template: {name: Repository, type: project}
        success_nodes: [build]
      - identifier: build
        unified_job_template: build.yml
        credentials: [main]
        success_nodes: [ask]
        failure_nodes: [after]
      - identifier: ask
        approval_node: {name: Go on?, description: Look first, timeout: 60}
        success_nodes: [after]
      - identifier: after
        unified_job_template: Clean up
        all_parents_must_converge: true
  - name: Clean up
    workflow_nodes:
      - {identifier: only, unified_job_template: {name: clean.yml, type: job_template}}
`
  const { workflows, errors } = parseWorkflowFile('code.yml', text)
  expect(errors).toEqual([])
  expect(workflows.map(({ workflow: { name }, line }) => [name, line])).toEqual([
    ['Release', 3],
    ['Clean up', 22],
  ])
  const links = { success: ['ask'], failure: ['after'], always: [] }
  expect(workflows[0]?.workflow).toMatchObject({
    extraVars: { colour: 'red' },
    nodes: [
      { identifier: 'sync', playbook: 'Repository', doesNothing: expect.any(String) as string },
      { type: 'job_template', playbook: 'build.yml', inventory: ['hosts.ini'], credentials: ['main'], links },
      { type: 'workflow_approval_template', approval: { title: 'Go on?', message: 'Look first' }, timeoutSeconds: 60 },
      { type: 'workflow_job_template', workflow: 'Clean up', needsAllParents: true },
    ],
  })
  const wrong = parseWorkflowFile('code.yml', text.replace('unified_job_template: build.yml', 'limit: 5'))
  expect(wrong.errors).toMatchObject([{ file: 'code.yml', line: 12 }])
})

test('a file is read as AWX exports it, with unused properties', () => {
  const text = `
workflow_job_templates:
  - name: Deploy
    description: ''
    ask_limit_on_launch: true
    extra_vars: "---\\ncolour: red\\n"
    inventory: null
    organization: {name: Default, type: organization}
    related:
      labels: []
      survey_spec: {}
      workflow_nodes:
        - identifier: build
          all_parents_must_converge: false
          diff_mode: true
          execution_environment: null
          extra_data: {version: 3}
          inventory: {name: hosts.ini, type: inventory}
          job_tags: fast
          job_type: check
          limit: web
          natural_key: {identifier: build, type: workflow_job_template_node}
          related:
            always_nodes: []
            credentials: [{name: vault1, credential_type: {name: Vault}}]
            success_nodes: [{identifier: ask, type: workflow_job_template_node}]
          skip_tags: slow
          unified_job_template: {name: ./plays/build.yaml, type: job_template, organization: null}
          verbosity: 2
        - identifier: ask
          all_parents_must_converge: true
          unified_job_template: {name: Go on?, type: workflow_approval, timeout: 900, description: 'It is built'}
        - identifier: as awxkit exports it
          related: {create_approval_template: {name: Sure?, description: '', timeout: 0}}
`
  const { workflows, errors } = parseWorkflowFile('w.yml', text)
  expect([errors, workflows[0]?.workflow.extraVars]).toEqual([[], { colour: 'red' }])
  const settings = { limit: 'web', tags: 'fast', skipTags: 'slow', check: true, diff: true, verbosity: 2 }
  const build = { ...settings, playbook: 'plays/build.yaml', inventory: ['hosts.ini'], credentials: ['vault1'] }
  const asks = { title: 'Go on?', message: 'It is built', roles: [], allowSelf: false }
  expect(workflows[0]?.workflow.nodes).toMatchObject([
    playbook('build', { success: ['ask'] }, { ...build, extraData: { version: 3 } }),
    { needsAllParents: true, timeoutSeconds: 900, approval: asks },
    { timeoutSeconds: 0, approval: { title: 'Sure?', message: null } },
  ])
})

test.each<[object, object, object]>([
  [{}, {}, playbook('a')],
  [{}, { limit: 'db', job_tags: 'fast', inventory: 'h.ini' }, { limit: 'db', tags: 'fast', inventory: ['h.ini'] }],
  [
    { limit: 'web', inventory: 'own.ini' },
    { limit: 'db', inventory: 'h.ini' },
    { limit: 'web', inventory: ['own.ini'] },
  ],
  [{ limit: '', runner: '' }, { limit: 'db' }, { limit: 'db', runner: null }],
  [
    { runner: 'north', if_extra_var: 'go', extra_vars_key: 'p' },
    {},
    { runner: 'north', ifExtraVar: 'go', extraVarsKey: 'p' },
  ],
  [
    { ...template('T', 'workflow_approval'), approval: { title: 'Own', roles: ['ops'], allowSelf: true } },
    {},
    { approval: { title: 'Own', roles: ['ops'], allowSelf: true } },
  ],
  [template('Other', 'workflow_job_template'), {}, { type: 'workflow_job_template', workflow: 'Other' }],
])('a node that says %j, in a workflow that says %j', (more, ofWorkflow, expected) => {
  expect(nodeOf(more, ofWorkflow)).toMatchObject(expected)
})

test('nodes that do nothing here are skipped, say so, and the rest of the workflow runs', () => {
  covers('workflow.project')
  const nodes = [
    node('p', template('/a repository', 'project'), { success_nodes: to('i') }),
    node('i', template('/x', 'inventory_source'), { success_nodes: to('b'), failure_nodes: to('f') }),
  ]
  const { workflows } = parse(workflow('W', ...nodes, node('b'), node('f')))
  const run = new Run(workflows[0]?.workflow.nodes ?? []).advance()
  expect(run.statuses()).toEqual({ p: 'skipped', i: 'skipped', b: 'running', f: 'do not run' })
  expect(run.facts.get('i')?.reason).toContain('which this service does not do')
})

test('configuration as code has lists of tags and hosts, and templates without a name or a type', () => {
  const text = `
controller_workflows:
  - name: Tags
    job_tags: [all]
    skip_tags: []
    simplified_workflow_nodes:
      - identifier: a.yml
        job_tags: [fast, 2]
        limit: [web, '!web3']
        unified_job_template: {type: job_template, organization: {name: Default}}
        success_nodes: [b]
      - {identifier: b, skip_tags: [slow], unified_job_template: {name: b.yml}, success_nodes: [Sure?]}
      - {identifier: Sure?, approval_node: {description: Look first}, success_nodes: [again]}
      - {identifier: again, unified_job_template: {name: Other}}
  - {name: Other, workflow_nodes: [{identifier: c, unified_job_template: {name: c.yml}}]}
`
  const { workflows, errors } = parseWorkflowFile('code.yml', text)
  expect(errors).toEqual([])
  expect(workflows.flatMap(({ workflow: { nodes } }) => nodes)).toMatchObject([
    { playbook: 'a.yml', tags: 'fast,2', skipTags: null, limit: 'web,!web3' },
    { playbook: 'b.yml', tags: 'all', skipTags: 'slow', limit: null },
    { approval: { title: 'Sure?', message: 'Look first' } },
    { type: 'workflow_job_template', workflow: 'Other' },
    { playbook: 'c.yml' },
  ])
})

test('mistakes have their line, workflow and node, and only that workflow is left out', () => {
  const { workflows, errors } = parse(workflow('good', node('a')), workflow('bad', node('x'), node('a', { limit: 3 })))
  expect(workflows.map((placed) => placed.workflow.name)).toEqual(['good'])
  const reason = expect.stringMatching(/^workflow 'bad': node 'a': limit /) as string
  expect(errors).toEqual([{ file: 'team/w.yml', line: 37, reason }])
})

test.each([
  ['no nodes', workflow('w'), 'workflow_nodes'],
  ['no name', { related: { workflow_nodes: [node('a')] } }, 'name'],
  ['an unknown link', workflow('w', node('a', {}, { success_nodes: to('b') })), "node 'a': success_nodes names 'b'"],
  ['a double identifier', workflow('w', node('a'), node('a')), "node 'a': there already is"],
  ['a link to itself', workflow('w', node('a', {}, { always_nodes: to('a') })), "node 'a': it is linked to itself"],
  [
    'a cycle',
    workflow('w', node('a', {}, { success_nodes: to('b') }), node('b', {}, { failure_nodes: to('a') })),
    'a → b → a',
  ],
  ['an unknown type', workflow('w', node('a', template('x', 'system_job'))), "no type 'system_job'"],
  ['a playbook outside', workflow('w', node('a', template('../x.yml', 'job_template'))), 'inside the playbook folder'],
  ['variables that are none', { ...workflow('w', node('a')), extra_vars: '- 1' }, 'extra_vars must be variables'],
  ['a node without anything', workflow('w', { identifier: 'a' }), "node 'a': unified_job_template is needed"],
  ['a node that is none', workflow('w', 'a'), 'node 1: '],
])('a workflow with %s is refused', (_what, given, reason) => {
  expect(parse(given)).toMatchObject({ workflows: [], errors: [{ reason: expect.stringContaining(reason) as string }] })
})

test.each([
  ['- {hosts: all}', 0],
  ['{a: [', 0],
  ['# workflow_job_templates\n- 1', 0],
  ['workflow_job_templates: [', 1],
  ['workflow_job_templates: 3', 1],
])('a file that is no workflow file is no error, and a broken one is: %j', (text, errors) => {
  expect(parseWorkflowFile('x.yml', text).errors).toHaveLength(errors)
})

const file = (name: string, ...workflows: unknown[]) => ({
  name,
  ...parseWorkflowFile(name, JSON.stringify({ workflow_job_templates: workflows })),
})
const nested = (identifier: string, name: string) => node(identifier, template(name, 'workflow_job_template'))
const library = libraryOf(
  [
    file('deploy.yml', workflow('Deploy', node('a'))),
    file('sub/deploy.yml', workflow('Below', node('a'))),
    file('one/same.yml', workflow('Same', node('a'))),
    file('two/same.yml', workflow('Same', node('a'))),
    file('two/many.yml', workflow('First', node('a')), workflow('Second', node('b'))),
    file('two/broken.yml', workflow('Broken'), workflow('Good', node('a'))),
    file('loop.yml', workflow('Ping', nested('n', 'Pong')), workflow('Pong', nested('n', 'Ping'))),
    file('around.yml', workflow('Around', nested('n', 'Ping'))),
    file('outer.yml', workflow('Outer', nested('n', 'Deploy'), nested('gone', 'Nothing'))),
    { name: 'group_vars/many.yml', workflows: [], errors: [] },
  ],
  [],
)

test.each([
  ['deploy.yml', 'Deploy'],
  ['sub/../deploy.yml', 'Deploy'],
  ['Deploy', 'Deploy'],
  ['two/same.yml', 'Same'],
  ['Second', 'Second'],
  ['Good', 'Good'],
  ['Outer', 'Outer'],
  ['same.yml', '(one/same.yml, two/same.yml): give the path'],
  ['Same', '(one/same.yml line 1, two/same.yml line 1): give the path of the file'],
  ['many.yml', "('First', 'Second'): give the name of one"],
  ['broken.yml', "has an error in line 1: workflow 'Broken': "],
  ['Nothing', "There is no workflow 'Nothing'"],
  ['Ping', '(Ping → Pong → Ping)'],
])('a form that names %s gets %s', (reference, expected) => {
  covers('workflow.reference', 'workflow.refused')
  const answer = library.find(reference)
  expect('problem' in answer ? answer.problem : answer.workflow.name).toContain(expected)
})

test('impossible workflows are reported with their file', () => {
  expect(library.errors.map((error) => `${error.file} ${/workflow '\w+'/.exec(error.reason)?.[0] ?? ''}`)).toEqual([
    "two/broken.yml workflow 'Broken'",
    "outer.yml workflow 'Outer'",
    "loop.yml workflow 'Ping'",
    "loop.yml workflow 'Pong'",
    "around.yml workflow 'Around'",
  ])
})
