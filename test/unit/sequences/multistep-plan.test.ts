import { describe, expect, test } from 'vitest'
import type { Field } from '../../../control-plane/src/forms/fields/field.js'
import type { MultistepForm, Step } from '../../../control-plane/src/forms/form.js'
import { createMultistep } from '../../../control-plane/src/sequences/multistep/multistep.js'
import { planSteps, stepVariables } from '../../../control-plane/src/sequences/multistep/plan.js'

const SETTINGS = {
  playbook: 'a.yml',
  playbookSubPath: null,
  inventory: [],
  tags: null,
  limit: null,
  listedInventories: [],
  check: false,
  diff: false,
  verbose: false,
  keepExtravars: false,
  allowJinjaInExtravars: false,
  executionImage: null,
  playbookFiles: null,
  runner: null,
  credentials: {},
  ansibleCredentials: null,
  vaultCredentials: [],
}

const step = (name: string, more: Partial<Step> = {}): Step =>
  ({
    name,
    type: 'ansible',
    settings: { ...SETTINGS, playbook: `${name}.yml`, runner: name === 'two' ? 'north' : null },
    key: null,
    ifExtraVar: null,
    continue: false,
    always: false,
    approval: null,
    notifications: null,
    ...more,
  }) as unknown as Step

const field = (name: string, ...model: string[]): Field => ({ name, model }) as unknown as Field

const form = (steps: readonly Step[], more: Partial<MultistepForm> = {}): MultistepForm =>
  ({ name: 'Steps', type: 'multistep', steps, fields: [], wizard: [], ...more }) as unknown as MultistepForm

const kind = createMultistep({ contextOf: () => Promise.resolve({ subforms: {}, constants: {} }) })
const opened = (...steps: Step[]) => kind.open(planSteps(form(steps), { subforms: {}, constants: {} }).plan)

describe('the variables of a step', () => {
  const values = {
    part: { a: 1, __inventory__: 'x', __limit__: 'y' },
    text: 'a',
    ansibleforms_user: { username: 'eve' },
  }
  const user = { ansibleforms_user: values.ansibleforms_user }

  test.each([
    ['no key', null],
    ['a key of a value that is no object', 'text'],
    ['a key without a value', 'none'],
    ['a key that every object has', 'toString'],
  ])('are all with %s', (_what, key) => {
    expect(stepVariables({ key, reserved: [] }, values)).toBe(values)
  })

  test('are those below its key, the user, and reserved ones that a field puts there', () => {
    expect(stepVariables({ key: 'part', reserved: [] }, values)).toEqual({ a: 1, ...user })
    expect(stepVariables({ key: 'part', reserved: ['__limit__', 'b'] }, values)).toEqual({
      a: 1,
      __limit__: 'y',
      ...user,
    })
  })

  test('have the verbose mode of the parent job only when it is on', () => {
    const below = (verbose: unknown) =>
      stepVariables({ key: 'part', reserved: [] }, { ...values, __verbose__: verbose })
    expect(below(true)).toEqual({ a: 1, __verbose__: true, ...user })
    for (const off of [false, 'true', 1]) expect(below(off)).toEqual({ a: 1, ...user })
  })

  test('below a key hold what fields of the form and of its pages put there', () => {
    const reserved = (more: Partial<MultistepForm>, subforms: Record<string, readonly Field[]> = {}) => {
      const { plan } = planSteps(form([step('one', { key: 'part' })], more), { subforms, constants: {} })
      return (plan as { steps: { reserved: string[] }[] }).steps[0]?.reserved
    }
    expect(reserved({ fields: [field('a', 'part.__limit__'), field('b', 'other.__tags__'), field('part')] })).toEqual([
      '__limit__',
    ])
    expect(reserved({ fields: [field('a', 'part[0].x')] })).toEqual([])
    const wizard = (defaultModel: string | null) =>
      ({
        wizard: [
          { subform: 'page', defaultModel },
          { subform: 'gone', defaultModel },
        ],
      }) as unknown as MultistepForm
    const page = { page: [field('__check__'), field('b', '/part.__diff__')] }
    expect(reserved(wizard('part'), page)).toEqual(['__check__', '__diff__'])
    expect(reserved(wizard(null), page)).toEqual(['__diff__'])
    expect(reserved(wizard('[]'), page)).toEqual(['__diff__'])
  })
})

describe('the plan', () => {
  test('has a job for each step, with its settings and its variables', () => {
    const planned = planSteps(form([step('one', { key: 'part' }), step('two')]), { subforms: {}, constants: {} })
    expect([planned.nodes, planned.problem]).toEqual([['one', 'two'], null])
    expect(planned.jobs.map(({ settings }) => settings.playbook)).toEqual(['one.yml', 'two.yml'])
    const values = { part: { a: 1 }, b: 2 }
    expect(planned.jobs.map((job) => job.values(values))).toEqual([{ a: 1 }, values])
  })

  test('of a form with a step for another system is refused', () => {
    const foreign = step('tower', { type: 'awx', settings: null })
    expect(() => planSteps(form([step('one'), foreign]), { subforms: {}, constants: {} })).toThrow(
      "The step 'tower' of the form 'Steps' is of type 'awx', which cannot be launched by this service yet",
    )
  })

  test('is made of multistep forms only, and a rejection ends its job', async () => {
    expect(await kind.plan(form([step('one')]))).toMatchObject({ nodes: ['one'] })
    expect(await kind.plan({ ...form([]), type: 'ansible' } as never)).toBeNull()
    expect(kind).toMatchObject({ jobType: 'multistep', endsWithRejection: true })
  })

  test('is a chain: a step follows a success, or any end where the form says so', () => {
    const chain = (...steps: Step[]) =>
      opened(...steps)
        .nodes()
        .map(({ identifier, links }) => [identifier, links])
    const none = { success: [], failure: [], always: [] }
    expect(chain(step('one'), step('two'))).toEqual([
      ['one', { ...none, success: ['two'] }],
      ['two', none],
    ])
    expect(chain(step('one', { continue: true }), step('two'))).toEqual([
      ['one', { ...none, always: ['two'] }],
      ['two', none],
    ])
    expect(chain(step('one'), step('two', { always: true }))).toEqual([
      ['one', { ...none, always: ['two'] }],
      ['two', none],
    ])
    expect(opened(step('one'), step('two')).nodes()).toMatchObject([
      { name: 'one.yml', type: 'step', needsAllParents: false, runners: [null] },
      { name: 'two.yml', runners: ['north'] },
    ])
  })

  test('knows the jobs and approvals of its own steps only', async () => {
    const approval = { title: 'T', message: null, roles: ['ops'], notifications: [], allowSelf: false }
    const plan = opened(step('one'), step('two', { approval }))
    const facts = { extravars: { a: 1 }, now: 0, serviceTime: 0 }
    expect(await plan.childJob('two', [], facts)).toMatchObject({ settings: { playbook: 'two.yml' }, values: { a: 1 } })
    expect(plan.approval('two')).toEqual(approval)
    expect(() => plan.approval('one')).toThrow('the step one asks for no approval')
    expect(() => plan.approval('three')).toThrow('the plan has no step three')
    expect(() => plan.childJob('three', [], facts)).toThrow('the plan has no step three')
  })
})
