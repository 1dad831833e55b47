import { describe, expect, it } from 'vitest'
import { libraryOf } from '../../../control-plane/src/sequences/workflows/library.js'
import { parseWorkflowFile } from '../../../control-plane/src/sequences/workflows/parse-workflow-file.js'
import { covers } from '../../interface/covers.js'
import { Run } from './graph.js'

interface Node {
  identifier: string
  [key: string]: unknown
}

/** A node of a playbook in the syntax of a file. */
function node(identifier: string, more: Record<string, unknown> = {}, related: Record<string, unknown> = {}): Node {
  return { identifier, unified_job_template: { name: `${identifier}.yml`, type: 'job_template' }, related, ...more }
}

const to = (...identifiers: string[]) => identifiers.map((identifier) => ({ identifier }))

const workflow = (name: string, ...nodes: unknown[]) => ({ name, related: { workflow_nodes: nodes } })

function parse(...workflows: unknown[]) {
  return parseWorkflowFile('team/w.yml', JSON.stringify({ workflow_job_templates: workflows }, null, 1))
}

const reasons = (...workflows: unknown[]) => parse(...workflows).errors.map((error) => error.reason)

describe('a workflow file', () => {
  it('as configuration as code has it', () => {
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
    expect(workflows.map(({ workflow, line }) => [workflow.name, line])).toEqual([
      ['Release', 3],
      ['Clean up', 22],
    ])
    const whole = workflows[0]?.workflow
    expect(whole?.extraVars).toEqual({ colour: 'red' })
    expect(whole?.nodes).toMatchObject([
      { identifier: 'sync', playbook: 'Repository', doesNothing: expect.stringContaining('repository') as string },
      {
        type: 'job_template',
        playbook: 'build.yml',
        inventory: ['hosts.ini'],
        credentials: ['main'],
        links: { success: ['ask'], failure: ['after'], always: [] },
      },
      { type: 'workflow_approval_template', approval: { title: 'Go on?', message: 'Look first' }, timeoutSeconds: 60 },
      { type: 'workflow_job_template', workflow: 'Clean up', needsAllParents: true },
    ])
    const wrong = parseWorkflowFile('code.yml', text.replace('unified_job_template: build.yml', 'limit: 5'))
    const reason = expect.stringMatching(/^workflow 'Release': node 'build': limit /) as string
    expect(wrong.errors).toMatchObject([{ file: 'code.yml', line: 12, reason }])
  })

  it('may have nodes that do nothing here: they are skipped, say so, and the rest of the workflow runs', () => {
    covers('workflow.project')
    const template = (type: string) => ({ unified_job_template: { name: '/a repository', type } })
    const nodes = [
      node('p', template('project'), { success_nodes: to('i') }),
      node('i', template('inventory_source'), { success_nodes: to('b'), failure_nodes: to('f') }),
    ]
    const { workflows } = parse(workflow('W', ...nodes, node('b'), node('f')))
    const run = new Run(workflows[0]?.workflow.nodes ?? []).advance()
    expect(run.started).toEqual(['b'])
    expect(run.end('b', 'success').advance().decision.end).toEqual({ status: 'success', reason: null })
    expect(run.statuses()).toEqual({ p: 'skipped', i: 'skipped', b: 'success', f: 'do not run' })
    expect(run.facts.get('i')?.reason).toContain('updates an inventory source, which this service does not do')
  })

  it('as AWX exports it, with unused properties', () => {
    const text = `
workflow_job_templates:
  - name: Deploy
    description: ''
    allow_simultaneous: false
    ask_limit_on_launch: true
    extra_vars: "---\\ncolour: red\\n"
    inventory: null
    limit: null
    organization: {name: Default, type: organization}
    webhook_credential: null
    related:
      labels: []
      notification_templates_started: []
      survey_spec: {}
      workflow_nodes:
        - identifier: build
          all_parents_must_converge: false
          diff_mode: true
          execution_environment: null
          extra_data: {version: 3}
          forks: null
          inventory: {name: hosts.ini, type: inventory}
          job_slice_count: null
          job_tags: fast
          job_type: check
          limit: web
          natural_key: {identifier: build, type: workflow_job_template_node}
          related:
            always_nodes: []
            credentials: [{name: vault1, credential_type: {name: Vault}}]
            failure_nodes: []
            instance_groups: []
            labels: []
            success_nodes: [{identifier: ask, type: workflow_job_template_node}]
          scm_branch: null
          skip_tags: slow
          timeout: null
          unified_job_template: {name: ./plays/build.yaml, type: job_template, organization: null}
          verbosity: 2
        - identifier: ask
          all_parents_must_converge: true
          unified_job_template: {name: Go on?, type: workflow_approval, timeout: 900, description: 'It is built'}
        - identifier: as awxkit exports it
          related: {create_approval_template: {name: Sure?, description: '', timeout: 0}}
`
    const { workflows, errors } = parseWorkflowFile('w.yml', text)
    expect(errors).toEqual([])
    expect(workflows).toMatchObject([{ file: 'w.yml', line: 3 }])
    expect(workflows[0]?.workflow).toMatchObject({
      name: 'Deploy',
      extraVars: { colour: 'red' },
      nodes: [
        {
          type: 'job_template',
          identifier: 'build',
          links: { success: ['ask'], failure: [], always: [] },
          playbook: 'plays/build.yaml',
          inventory: ['hosts.ini'],
          limit: 'web',
          tags: 'fast',
          skipTags: 'slow',
          check: true,
          diff: true,
          verbosity: 2,
          extraData: { version: 3 },
          credentials: ['vault1'],
          ifExtraVar: null,
          extraVarsKey: null,
        },
        {
          type: 'workflow_approval_template',
          needsAllParents: true,
          timeoutSeconds: 900,
          approval: { title: 'Go on?', message: 'It is built', roles: [], allowSelf: false },
        },
        { type: 'workflow_approval_template', timeoutSeconds: 0, approval: { title: 'Sure?', message: null } },
      ],
    })
  })

  it('has its own keys, and settings of the workflow for nodes without them', () => {
    const own = { runner: 'north', if_extra_var: 'go', extra_vars_key: 'part', inventory: 'web1,' }
    const asks = {
      identifier: 'ask',
      unified_job_template: { name: 'Sure?', type: 'workflow_approval_template' },
      approval: { roles: ['ops'], title: 'T', message: 'M', allowSelf: true },
    }
    const whole = { ...workflow('w', node('a', own), asks), limit: 'db', inventory: { name: 'all.ini' } }
    expect(parse(whole).workflows[0]?.workflow.nodes).toMatchObject([
      { runner: 'north', ifExtraVar: 'go', extraVarsKey: 'part', inventory: ['web1,'], limit: 'db' },
      { approval: { roles: ['ops'], title: 'T', message: 'M', allowSelf: true, notifications: [] } },
    ])
  })

  it('reports mistakes with line, workflow and node, and leaves out only that workflow', () => {
    const { workflows, errors } = parse(
      workflow('good', node('a')),
      workflow('bad', node('x'), node('a', { limit: 3 })),
    )
    expect(workflows.map((placed) => placed.workflow.name)).toEqual(['good'])
    expect(errors).toEqual([
      { file: 'team/w.yml', line: 37, reason: "workflow 'bad': node 'a': limit must be string or must be null" },
    ])
  })

  it.each([
    ['no nodes', workflow('w'), 'workflow_nodes must not have fewer than 1 items'],
    ['no name', { related: { workflow_nodes: [node('a')] } }, 'name'],
    ['an unknown link', workflow('w', node('a', {}, { success_nodes: to('b') })), "node 'a': success_nodes names 'b'"],
    ['a double identifier', workflow('w', node('a'), node('a')), "node 'a': there already is a node with this"],
    ['a link to itself', workflow('w', node('a', {}, { always_nodes: to('a') })), "node 'a': it is linked to itself"],
    [
      'a cycle',
      workflow('w', node('a', {}, { success_nodes: to('b') }), node('b', {}, { failure_nodes: to('a') })),
      "node 'a': its links lead back to it (a → b → a)",
    ],
    [
      'an unknown type',
      workflow('w', node('a', { unified_job_template: { name: 'x', type: 'system_job' } })),
      "node 'a': there is no type 'system_job' of nodes",
    ],
    [
      'a playbook outside',
      workflow('w', node('a', { unified_job_template: { name: '../x.yml', type: 'job_template' } })),
      "node 'a': unified_job_template.name must be a path inside the playbook folder",
    ],
    [
      'variables that are none',
      { ...workflow('w', node('a')), extra_vars: '- 1' },
      "'w': extra_vars must be variables",
    ],
    ['a node without anything', workflow('w', { identifier: 'a' }), "node 'a': unified_job_template is needed"],
    ['a node that is none', workflow('w', 'a'), 'node 1: '],
  ])('refuses %s', (_, given, reason) => {
    const [found, ...others] = reasons(given)
    expect(found).toContain(reason)
    expect(others).toEqual([])
  })

  it('other YAML files are no errors, broken workflow files are', () => {
    expect(parseWorkflowFile('x.yml', '- {hosts: all}')).toEqual({ workflows: [], errors: [] })
    expect(parseWorkflowFile('x.yml', '{a: [')).toEqual({ workflows: [], errors: [] })
    expect(parseWorkflowFile('x.yml', '# workflow_job_templates\n- 1')).toEqual({ workflows: [], errors: [] })
    expect(parseWorkflowFile('x.yml', 'workflow_job_templates: [').errors).toHaveLength(1)
    expect(parseWorkflowFile('x.yml', 'workflow_job_templates: 3').errors).toHaveLength(1)
  })
})

describe('the workflows of a folder', () => {
  const file = (name: string, ...workflows: unknown[]) => ({
    name,
    ...parseWorkflowFile(name, JSON.stringify({ workflow_job_templates: workflows })),
  })
  const nested = (identifier: string, name: string) =>
    node(identifier, { unified_job_template: { name, type: 'workflow_job_template' } })
  const library = libraryOf(
    [
      file('deploy.yml', workflow('Deploy', node('a'))),
      file('one/same.yml', workflow('Same', node('a'))),
      file('two/same.yml', workflow('Same', node('a'))),
      file('two/many.yml', workflow('First', node('a')), workflow('Second', node('b'))),
      file('two/broken.yml', workflow('Broken')),
      file('pull.yml', workflow('Pull', node('p', { unified_job_template: { name: '/x', type: 'project' } }))),
      file('loop.yml', workflow('Ping', nested('n', 'Pong')), workflow('Pong', nested('n', 'Ping'))),
      file('around.yml', workflow('Around', nested('n', 'Ping'))),
      file('outer.yml', workflow('Outer', nested('n', 'Deploy'), nested('gone', 'Nothing'))),
      file('plays/release.yml', workflow('Release', node('a'))),
      ...['deploy.yml', 'release.yml'].map((name) => ({ name: `group_vars/${name}`, workflows: [], errors: [] })),
    ],
    [],
  )
  const found = (reference: string) => {
    const answer = library.find(reference)
    return 'problem' in answer ? answer.problem : answer.workflow.name
  }

  it.each([
    ['deploy.yml', 'Deploy'],
    ['./deploy.yml', 'Deploy'],
    ['Deploy', 'Deploy'],
    // The file of variables with this name is no workflow file.
    ['release.yml', 'Release'],
    ['two/same.yml', 'Same'],
    ['Second', 'Second'],
    ['Outer', 'Outer'],
    ['same.yml', "Several workflow files are named 'same.yml' (one/same.yml, two/same.yml): give the path"],
    [
      'Same',
      "Several workflows are named 'Same' (one/same.yml line 1, two/same.yml line 1): give the path of the file",
    ],
    ['many.yml', "The workflow file 'many.yml' holds several workflows ('First', 'Second'): give the name of one"],
    ['Nothing', "There is no workflow 'Nothing', neither a file nor a name in one"],
    ['Pull', 'Pull'],
    ['Ping', "The workflow 'Ping' in loop.yml cannot run: its workflows lead back to each other (Ping → Pong → Ping)"],
  ])('%s: %s', (reference, expected) => {
    covers('workflow.reference', 'workflow.refused')
    expect(found(reference)).toBe(expected)
  })

  it('names the mistake of a named file', () => {
    expect(found('broken.yml')).toContain("The workflow file 'broken.yml' has an error in line 1: workflow 'Broken': ")
  })

  it('reports impossible workflows, with their file', () => {
    covers('workflow.files', 'workflow.refused')
    expect(library.errors.map(({ file, reason }) => `${file}: ${reason}`)).toEqual([
      expect.stringContaining("two/broken.yml: workflow 'Broken': related.workflow_nodes"),
      expect.stringContaining("outer.yml: workflow 'Outer': node 'gone': There is no workflow 'Nothing'"),
      expect.stringContaining("loop.yml: workflow 'Ping': its workflows lead back"),
      expect.stringContaining("loop.yml: workflow 'Pong': its workflows lead back"),
      expect.stringContaining("around.yml: workflow 'Around': its workflows lead back"),
    ])
  })
})
