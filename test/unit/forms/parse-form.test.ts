import { describe, expect, test } from 'vitest'
import type { Form } from '../../../control-plane/src/forms/form.js'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'

const parse = (more: object) =>
  parseFormFile('f.yml', JSON.stringify({ name: 'f', type: 'ansible', playbook: 'x.yml', ...more }, null, 1))

function formOf(more: object): Form {
  const { forms, errors } = parse(more)
  expect(errors).toEqual([])
  const [first] = forms
  if (!first) throw new Error('there is no form')
  return first.form
}
const refusalOf = (more: object) => parse(more).errors[0]?.reason ?? ''

describe('a form', () => {
  test('that says little runs its playbook for everybody who may, and may be aborted and started again', () => {
    expect(formOf({ type: undefined })).toMatchObject({
      type: 'ansible',
      roles: [],
      description: null,
      categories: ['Default'],
      runner: null,
      abortable: true,
      allowRelaunch: true,
      timeoutMs: null,
      concurrency: null,
      notifications: null,
      launchValidation: null,
      userExtravars: null,
      varsFiles: [],
      approval: null,
      credentials: {},
      ansibleCredentials: null,
      passwordFields: [],
      playbookSubPath: null,
      inventory: [],
      tags: null,
      limit: null,
      check: false,
      diff: false,
      verbose: false,
      keepExtravars: false,
      allowJinjaInExtravars: false,
      executionImage: null,
      playbookFiles: null,
    })
  })

  test.each<[object, object]>([
    [{ runner: 'r' }, { runner: 'r' }],
    [{ runner: '' }, { runner: null }],
    [{ abortable: false }, { abortable: false }],
    [{ disableRelaunch: true }, { allowRelaunch: false }],
    [{ disableRelaunch: false }, { allowRelaunch: true }],
    [{ disableRelaunch: true, allowRelaunch: true }, { allowRelaunch: true }],
    [{ ansibleCredentials: '' }, { ansibleCredentials: null }],
    [{ ansibleCredentials: 'c' }, { ansibleCredentials: 'c' }],
    [{ userExtravars: '' }, { userExtravars: null }],
    [{ userExtravars: 'all' }, { userExtravars: null }],
    [{ userExtravars: 'email, all' }, { userExtravars: null }],
    [{ userExtravars: 'none' }, { userExtravars: [] }],
    [{ userExtravars: ['email, groups', ' ', 'type'] }, { userExtravars: ['email', 'groups', 'type'] }],
    [{ inventory: '' }, { inventory: [] }],
    [{ inventory: 'a' }, { inventory: ['a'] }],
    [{ inventory: ['a', 'b'] }, { inventory: ['a', 'b'] }],
    [{ tags: '' }, { tags: null }],
    [{ tags: [] }, { tags: null }],
    [{ tags: 'a,b' }, { tags: 'a,b' }],
    [{ tags: ['a', 'b'] }, { tags: 'a,b' }],
    [
      { limit: 'h', playbookSubPath: 'p' },
      { limit: 'h', playbookSubPath: 'p' },
    ],
    [
      { limit: '', playbookSubPath: '' },
      { limit: null, playbookSubPath: null },
    ],
    [{ check: true }, { check: true, diff: false }],
    [{ diff: true }, { check: false, diff: true }],
    [
      { verbose: true, keepExtravars: true },
      { verbose: true, keepExtravars: true, allowJinjaInExtravars: false },
    ],
    [{ allowJinjaInExtravars: true }, { allowJinjaInExtravars: true }],
    [{ fields: [{ name: 'p', type: 'password', model: 'a.b' }] }, { passwordFields: ['p', 'b'] }],
  ])('with %j has %j', (more, expected) => {
    expect(formOf(more)).toMatchObject(expected)
  })

  test.each(['off', 'log', 'enforce'])('may ask for the check %s of its values', (launchValidation) => {
    expect(formOf({ launchValidation })).toMatchObject({ launchValidation })
  })

  test.each(['subform', 'awx', 'aap', 'ascender', 'semaphore', 'rundeck', 'jenkins'])(
    'of type %s loads without a playbook',
    (type) => {
      expect(formOf({ type, playbook: undefined })).toMatchObject({ type })
    },
  )

  test('of type workflow has its workflow, and says no more about playbooks when it does not', () => {
    const off = { verbose: false, keepExtravars: false, allowJinjaInExtravars: false, playbookFiles: null }
    expect(formOf({ type: 'workflow', workflow: 'w' })).toMatchObject({ type: 'workflow', workflow: 'w', ...off })
    expect(formOf({ type: 'workflow', workflow: 'w', playbookFiles: ['a/'] })).toMatchObject({ playbookFiles: ['a'] })
    expect(refusalOf({ type: 'workflow' })).toBe('workflow is needed in a form of type workflow')
    expect(refusalOf({ type: 'workflow', workflow: 'w', playbookFiles: ['../a'] })).toContain('must be a path inside')
  })

  test.each([
    ['text', {}],
    ['textarea', {}],
    ['password', {}],
    ['number', {}],
    ['checkbox', {}],
    ['radio', { values: [1] }],
    ['enum', { values: [1] }],
    ['expression', { value: 1 }],
    ['datetime', {}],
    ['file', {}],
    ['list', { subform: 's' }],
    ['yaml', {}],
    ['html', {}],
  ])('may have a field of type %s', (type, more) => {
    expect(formOf({ fields: [{ name: 'a', type, ...more }] }).fields).toMatchObject([{ type }])
  })

  test.each([
    ['local', 'expression', { value: 1 }],
    ['local_out', 'expression', { value: 1 }],
    ['credential', 'expression', { value: 1 }],
    ['query', 'enum', { values: [1] }],
    ['table', 'list', { subform: 's' }],
  ])('may have a field of the older type %s, which is %s', (type, now, more) => {
    expect(formOf({ fields: [{ name: 'a', type, ...more }] }).fields).toMatchObject([{ type: now }])
  })

  test.each(['and', 'or', 'nand', 'nor'])('may have a field whose dependencies count as %s', (dependencyFn) => {
    expect(formOf({ fields: [{ name: 'a', dependencyFn }] }).fields).toMatchObject([{ dependencyFn }])
  })

  test.each(['date', 'datetime', 'time', 'month', 'year', 'week'])('may have a field for a %s', (dateType) => {
    expect(formOf({ fields: [{ name: 'a', type: 'datetime', dateType }] }).fields).toMatchObject([{ dateType }])
  })

  test.each<[object, string, number]>([
    [{ type: 'shell' }, 'type', 3],
    [{ playbook: undefined }, 'playbook is needed in a form of type ansible', 2],
    [{ playbook: '../x.yml' }, 'playbook must be a path inside the playbook folder', 4],
    [{ executionImage: 'no image' }, "'no image' is no name of a container image", 5],
    [{ timeout: 0 }, 'timeout must be', 5],
    [{ notifications: 5 }, 'notifications must be an object with recipients or channels, not 5', 5],
    [{ fields: [{ name: 'a' }, { name: 'a' }] }, 'fields.1 there already is one named a', 10],
    [{ wizard: [{ subform: 's' }, { subform: 't', name: 's' }] }, 'wizard.1 there already is one named s', 11],
    [{ fields: [{ name: 'a', type: 'radio' }] }, 'fields.0 a radio field needs values', 7],
  ])('%j is refused with its line', (more, reason, line) => {
    const { forms, errors } = parse(more)
    expect(forms).toEqual([])
    expect(errors).toMatchObject([{ file: 'f.yml', form: 'f', line }])
    expect(errors[0]?.reason).toContain(reason)
  })

  test('a file may have a list of forms: the good ones stay, and each bad one is named', () => {
    const long = 'n'.repeat(201)
    const text = ['- {name: a, playbook: x.yml}', '- {name: b}', '- {name: 5}', '- text', '- null', `- {name: ${long}}`]
    const { forms, errors } = parseFormFile('f.yml', text.join('\n'))
    expect(forms).toMatchObject([{ file: 'f.yml', line: 1, form: { name: 'a' } }])
    expect(errors.map(({ line, form }) => [line, form])).toEqual([
      [2, 'b'],
      [3, null],
      [4, null],
      [5, null],
      [6, long.slice(0, 200)],
    ])
    expect(parseFormFile('f.yml', 'name: [')).toMatchObject({ forms: [], errors: [{ file: 'f.yml', form: null }] })
  })
})

describe('the steps of a form', () => {
  const multistep = (steps: unknown, more: object = {}) => ({ type: 'multistep', playbook: undefined, steps, ...more })
  const stepsOf = (steps: object[], more: object = {}) => {
    const form = formOf(multistep(steps, more))
    return form.type === 'multistep' ? form : null
  }

  test('have nothing that they do not say, and settings only where a runner runs them', () => {
    expect(
      stepsOf([
        { name: 'a', playbook: 'x.yml', key: '', ifExtraVar: '' },
        { name: 'b', type: 'awx' },
      ]),
    ).toMatchObject({
      steps: [
        {
          name: 'a',
          type: 'ansible',
          key: null,
          ifExtraVar: null,
          continue: false,
          always: false,
          approval: null,
          notifications: null,
          settings: {
            playbook: 'x.yml',
            runner: null,
            ansibleCredentials: null,
            credentials: {},
            listedInventories: [],
          },
        },
        { name: 'b', type: 'awx', settings: null },
      ],
    })
  })

  test('take what the form says for all, except its playbook, its approval and its notifications', () => {
    const approval = { roles: ['r'] }
    const form = stepsOf(
      [{ name: 'a', playbook: 'x.yml', credentials: { b: '2' }, varsFiles: ['v.yml', 'w.yml'], key: 'k' }],
      {
        runner: 'r',
        limit: 'h',
        verbose: true,
        ansibleCredentials: 'login',
        credentials: { a: '1', b: '1' },
        varsFiles: ['v.yml'],
        approval,
        notifications: { channels: 'c' },
        fields: [{ name: '__inventory__', default: 'i' }],
      },
    )
    expect(form).toMatchObject({ varsFiles: ['v.yml', 'w.yml'], approval: { roles: ['r'] } })
    expect(form?.steps).toMatchObject([
      {
        key: 'k',
        approval: null,
        notifications: null,
        settings: {
          runner: 'r',
          limit: 'h',
          verbose: true,
          ansibleCredentials: 'login',
          credentials: { a: '1', b: '2' },
          listedInventories: ['i'],
        },
      },
    ])
    expect(refusalOf(multistep([{ name: 'a' }], { playbook: 'x.yml' }))).toContain(
      'steps.0 playbook is needed in a step of type ansible',
    )
  })

  test('say for themselves what comes after them, who agrees, and who is told', () => {
    const more = {
      ifExtraVar: 'v',
      continue: true,
      always: true,
      approval: { roles: ['r'] },
      notifications: { channels: 'c' },
    }
    expect(stepsOf([{ name: 'a', playbook: 'x.yml', ...more }])?.steps).toMatchObject([
      { ifExtraVar: 'v', continue: true, always: true, approval: { roles: ['r'] }, notifications: { channels: ['c'] } },
    ])
  })

  test.each(['awx', 'aap', 'ascender', 'semaphore', 'rundeck', 'jenkins'])('may be of type %s', (type) => {
    expect(stepsOf([{ name: 'a', type: 'ansible', playbook: 'x.yml' }])?.steps).toMatchObject([{ type: 'ansible' }])
    expect(stepsOf([{ name: 'a', type }])?.steps).toMatchObject([{ type, settings: null }])
  })

  test('must be there, with different names and good notifications', () => {
    expect(refusalOf(multistep(undefined))).toBe('steps are needed in a form of type multistep')
    expect(parse(multistep([])).errors).toMatchObject([
      { line: 4, reason: 'steps are needed in a form of type multistep' },
    ])
    expect(
      refusalOf(
        multistep([
          { name: 'a', type: 'awx' },
          { name: 'a', type: 'awx' },
        ]),
      ),
    ).toContain('already is one named a')
    expect(refusalOf(multistep([{ name: 'a', type: 'awx', notifications: 5 }]))).toContain(
      'steps.0 notifications must be an object with recipients or channels, not 5',
    )
    expect(refusalOf(multistep([{ name: 'a', type: 'workflow' }]))).toContain('type')
  })
})
