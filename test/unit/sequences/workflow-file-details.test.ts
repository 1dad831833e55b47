import { describe, expect, test } from 'vitest'
import { libraryOf } from '../../../control-plane/src/sequences/workflows/library.js'
import { cycleIn, problemOfLinks } from '../../../control-plane/src/sequences/workflows/links.js'
import { parseWorkflowFile } from '../../../control-plane/src/sequences/workflows/parse-workflow-file.js'
import { playbook } from './graph.js'

/** One workflow; each property of the workflow and of the node is on a line of its own. */
function textOf(properties: readonly string[], node: readonly string[]): string {
  return [
    'workflow_job_templates:',
    '  - name: W',
    ...properties.map((line) => `    ${line}`),
    '    related:',
    '      workflow_nodes:',
    '        - identifier: a',
    ...node.map((line) => `          ${line}`),
  ].join('\n')
}
const PLAYBOOK = 'unified_job_template: {name: a.yml, type: job_template}'

function parsed(properties: readonly string[], node: readonly string[]) {
  const { workflows, errors } = parseWorkflowFile('w.yml', textOf(properties, node))
  return { workflow: workflows[0]?.workflow, node: workflows[0]?.workflow.nodes[0], errors }
}

describe('what a node does not say', () => {
  test('has a default', () => {
    expect(parsed([], [PLAYBOOK]).node).toEqual(playbook('a'))
  })

  test.each<[string, string[], object]>([
    ['a limit', ['limit: db'], { limit: 'db' }],
    ['tags', ['job_tags: fast'], { tags: 'fast' }],
    ['tags to skip', ['skip_tags: slow'], { skipTags: 'slow' }],
    ['an inventory', ['inventory: hosts.ini'], { inventory: ['hosts.ini'] }],
    ['an inventory of an export', ['inventory: {name: hosts.ini}'], { inventory: ['hosts.ini'] }],
  ])('comes from the workflow: %s', (_what, properties, expected) => {
    expect(parsed(properties, [PLAYBOOK]).node).toMatchObject(expected)
  })

  test.each<[string, string[], string[], object]>([
    ['a limit', ['limit: db'], ['limit: web'], { limit: 'web' }],
    ['tags', ['job_tags: fast'], ['job_tags: own'], { tags: 'own' }],
    ['tags to skip', ['skip_tags: slow'], ['skip_tags: own'], { skipTags: 'own' }],
    ['an inventory', ['inventory: hosts.ini'], ['inventory: own.ini'], { inventory: ['own.ini'] }],
    ['an empty text, which says nothing', ['limit: db'], ["limit: ''"], { limit: 'db' }],
    ['an empty runner', [], ["runner: ''"], { runner: null }],
    ['a run', [], ['job_type: run'], { check: false }],
    ['a check', [], ['job_type: check'], { check: true }],
    ['differences', [], ['diff_mode: true'], { diff: true }],
    ['no differences', [], ['diff_mode: false'], { diff: false }],
    ['a verbosity', [], ['verbosity: 3'], { verbosity: 3 }],
    ['all its parents', [], ['all_parents_must_converge: true'], { needsAllParents: true }],
    ['one of its parents', [], ['all_parents_must_converge: false'], { needsAllParents: false }],
  ])('is not taken where it says something itself: %s', (_what, properties, node, expected) => {
    expect(parsed(properties, [PLAYBOOK, ...node]).node).toMatchObject(expected)
  })

  test.each<[string, string[], object]>([
    [
      'an approval',
      ['unified_job_template: {name: Go?, type: workflow_approval}'],
      {
        timeoutSeconds: 0,
        approval: { title: 'Go?', message: null, roles: [], notifications: [], allowSelf: false },
      },
    ],
    [
      'an approval with a description',
      ['unified_job_template: {name: Go?, type: workflow_approval_template, description: Look, timeout: 9}'],
      { timeoutSeconds: 9, approval: { title: 'Go?', message: 'Look' } },
    ],
    [
      'an approval with texts of its own',
      [
        'unified_job_template: {name: Go?, type: workflow_approval, description: Look}',
        'approval: {title: T, message: M, roles: [ops], notifications: [a@b.example], allowSelf: true}',
      ],
      { approval: { title: 'T', message: 'M', roles: ['ops'], notifications: ['a@b.example'], allowSelf: true } },
    ],
  ])('and neither does %s', (_what, node, expected) => {
    expect(parsed([], node).node).toMatchObject(expected)
  })
})

describe('variables', () => {
  test.each<[string, object]>([
    ['extra_vars: {x: 1}', { x: 1 }],
    ['extra_vars: \'{"x": 1}\'', { x: 1 }],
    ["extra_vars: ''", {}],
    ['extra_vars: null', {}],
    ['extra_vars: {__proto__: {x: 1}, y: 2}', { y: 2 }],
  ])('are read from an object or a text: %s', (property, expected) => {
    expect(parsed([property], [PLAYBOOK]).workflow?.extraVars).toEqual(expected)
  })
})

describe('a mistake has the line in which it stands', () => {
  test.each<[string, string[], string[], number, string]>([
    [
      'of the workflow',
      ['description: x', "extra_vars: '- 1'"],
      [PLAYBOOK],
      4,
      "workflow 'W': extra_vars must be variables",
    ],
    ['in a text of YAML', ["extra_vars: '{'"], [PLAYBOOK], 3, "workflow 'W': extra_vars is no YAML: "],
    ['of a node', [], [PLAYBOOK, "extra_data: '- 1'"], 7, "node 'a': extra_data must be variables"],
    [
      'of its playbook',
      [],
      ['unified_job_template:', '  type: job_template', '  name: /etc/x.yml'],
      8,
      "node 'a': unified_job_template.name must be a path inside the playbook folder",
    ],
    [
      'of its type',
      [],
      ['unified_job_template:', '  name: x', '  type: odd'],
      8,
      "node 'a': there is no type 'odd' of nodes",
    ],
    ['of a missing template', [], ['runner: north'], 5, "node 'a': unified_job_template is needed"],
    [
      'of a link',
      [],
      [PLAYBOOK, 'related: {success_nodes: [{identifier: b}]}'],
      5,
      "node 'a': success_nodes names 'b'",
    ],
  ])('%s', (_what, properties, node, line, reason) => {
    const { errors, workflow } = parsed(properties, node)
    expect(errors).toEqual([{ file: 'w.yml', line, reason: expect.stringContaining(reason) as string }])
    expect(workflow).toBeUndefined()
  })

  test('also when two nodes have one identifier', () => {
    const second = ['  - identifier: a', `    ${PLAYBOOK}`].map((line) => `      ${line}`)
    const text = [textOf([], [PLAYBOOK]), ...second].join('\n')
    expect(parseWorkflowFile('w.yml', text).errors).toEqual([
      { file: 'w.yml', line: 7, reason: "workflow 'W': node 'a': there already is a node with this identifier" },
    ])
  })

  test('long names are cut', () => {
    const long = 'x'.repeat(101)
    const { errors } = parseWorkflowFile(
      'w.yml',
      JSON.stringify({
        workflow_job_templates: [
          {
            name: long,
            related: { workflow_nodes: [{ identifier: long, unified_job_template: { name: 'x', type: long } }] },
          },
        ],
      }),
    )
    const cut = 'x'.repeat(100)
    expect(errors[0]?.reason).toContain(`workflow '${cut}': node '${cut}': there is no type '${cut}' of nodes`)
  })
})

test('a node of another kind says that it does nothing here', () => {
  for (const type of ['project', 'inventory_source']) {
    const { node } = parsed([], [`unified_job_template: {name: /x, type: ${type}}`])
    expect(node).toMatchObject({ playbook: '/x', doesNothing: expect.stringContaining('does not do') as string })
  }
  expect(parsed([], ['unified_job_template: {name: Other, type: workflow_job_template}']).node).toMatchObject({
    type: 'workflow_job_template',
    workflow: 'Other',
  })
})

describe('configuration as code', () => {
  const read = (workflow: object, ...others: object[]) => {
    const { workflows, errors } = parseWorkflowFile(
      'w.yml',
      JSON.stringify({ controller_workflows: [{ name: 'W', ...workflow }, ...others] }),
    )
    return { nodes: workflows[0]?.workflow.nodes, errors }
  }

  test('a simple node has names in place of objects; links of all kinds', () => {
    const node = (identifier: string, more: object = {}) => ({ identifier, unified_job_template: 'x.yml', ...more })
    const links = { success_nodes: ['b'], failure_nodes: ['c'], always_nodes: [{ identifier: 'd' }] }
    const nodes = [
      node('a', { ...links, credentials: ['one', { name: 'two' }] }),
      ...['b', 'c', 'd'].map((name) => node(name)),
    ]
    const found = read({ simplified_workflow_nodes: nodes })
    expect(found.errors).toEqual([])
    expect(found.nodes?.[0]).toMatchObject({
      type: 'job_template',
      playbook: 'x.yml',
      links: { success: ['b'], failure: ['c'], always: ['d'] },
      credentials: ['one', 'two'],
    })
  })

  test('a node with the name of a workflow of the file runs it', () => {
    const only = [{ identifier: 'a', unified_job_template: 'Other' }]
    const other = { name: 'Other', simplified_workflow_nodes: [{ identifier: 'b', unified_job_template: 'b.yml' }] }
    expect(read({ simplified_workflow_nodes: only }, other).nodes?.[0]).toMatchObject({
      type: 'workflow_job_template',
      workflow: 'Other',
    })
    expect(read({ simplified_workflow_nodes: only }).nodes?.[0]).toMatchObject({ type: 'job_template' })
  })

  test('nodes of an export count before those beside the name', () => {
    const exported = { identifier: 'exported', unified_job_template: { name: 'x.yml', type: 'job_template' } }
    const simple = { identifier: 'simple', unified_job_template: 'x.yml' }
    const beside = { ...exported, identifier: 'beside' }
    const whole = {
      related: { workflow_nodes: [exported] },
      simplified_workflow_nodes: [simple],
      workflow_nodes: [beside],
    }
    const first = (workflow: object) => read(workflow).nodes?.[0]?.identifier
    expect(first(whole)).toBe('exported')
    expect(first({ ...whole, related: {} })).toBe('simple')
    expect(first({ ...whole, related: {}, simplified_workflow_nodes: undefined })).toBe('beside')
  })

  test.each([
    ['no list of nodes', { simplified_workflow_nodes: 'x' }],
    ['a node that is none', { simplified_workflow_nodes: ['x'] }],
    ['a workflow without nodes', {}],
  ])('%s is a mistake', (_what, workflow) => {
    expect(read(workflow).errors).toHaveLength(1)
  })
})

describe('links', () => {
  test('that lead back are found, and those that only meet are not', () => {
    const graph = (edges: Readonly<Record<string, readonly string[]>>) => new Map(Object.entries(edges))
    const points = ['a', 'b', 'c', 'd']
    expect(cycleIn(points, graph({ a: ['b', 'c'], b: ['d'], c: ['d'] }))).toBeNull()
    expect(cycleIn(points, graph({ a: ['b'], b: ['c'], c: ['b'] }))).toEqual(['b', 'c', 'b'])
    expect(cycleIn(points, graph({ d: ['d'] }))).toEqual(['d', 'd'])
    expect(cycleIn(['a'], graph({ b: ['b'] }))).toBeNull()
    expect(cycleIn(['a', 'b'], graph({ a: ['b'], b: ['gone'] }))).toBeNull()
  })

  test.each(['success', 'failure', 'always'] as const)(
    'of every kind lead to other nodes of the workflow: %s',
    (kind) => {
      const reasonOf = (target: string, ...others: string[]) =>
        problemOfLinks([playbook('a', { [kind]: [target] }), ...others.map((name) => playbook(name))])?.reason
      expect(reasonOf('b')).toBe(`${kind}_nodes names 'b', and there is no such node`)
      expect(reasonOf('a')).toBe('it is linked to itself')
      expect(reasonOf('b', 'b')).toBeUndefined()
      expect(problemOfLinks([playbook('a', { success: ['b'] }), playbook('b', { [kind]: ['a'] })])).toEqual({
        identifier: 'a',
        reason: 'its links lead back to it (a → b → a)',
      })
    },
  )
})

describe('a folder of workflows', () => {
  const file = (name: string, text: string) => ({ name, ...parseWorkflowFile(name, text) })
  const EMPTY = 'workflow_job_templates: []'
  const one = (name: string) => textOf([], [PLAYBOOK]).replace('name: W', `name: ${name}`)

  test('has a file without workflows, which is named as such', () => {
    const library = libraryOf([file('empty.yml', EMPTY)], [])
    expect(library.find('empty.yml')).toEqual({ problem: "The file 'empty.yml' holds no workflow" })
    // By its file name alone it is found only when it holds something.
    expect(libraryOf([file('sub/empty.yml', EMPTY)], []).find('empty.yml')).toEqual({
      problem: "There is no workflow 'empty.yml', neither a file nor a name in one",
    })
  })

  test('has files with mistakes: neither the good workflow of such a file nor its file is used by the file name', () => {
    const broken = `${one('Good')}\n  - name: Bad\n`
    const library = libraryOf([file('sub/both.yml', broken)], [{ file: 'x', line: 1, form: null, reason: 'gone' }])
    expect(library.find('both.yml')).toEqual({
      problem: expect.stringContaining("The workflow file 'both.yml' has an error in line 7: ") as string,
    })
    expect(library.find('Good')).toMatchObject({ workflow: { name: 'Good' } })
    expect(library.errors).toEqual([
      { file: 'x', line: 1, form: null, reason: 'gone' },
      expect.objectContaining({ file: 'sub/both.yml', line: 7, form: null }),
    ])
  })

  test('a path wins over file names, and a file name over names of workflows', () => {
    const library = libraryOf(
      [file('a.yml', one('Root')), file('sub/a.yml', one('Sub')), file('b.yml', one('a.yml'))],
      [],
    )
    expect(library.find('a.yml')).toMatchObject({ workflow: { name: 'Root' } })
    expect(library.find('sub/../a.yml')).toMatchObject({ workflow: { name: 'Root' } })
    expect(library.find('b.yml')).toMatchObject({ workflow: { name: 'a.yml' } })
  })
})
