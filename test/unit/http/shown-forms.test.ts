import { describe, expect, test } from 'vitest'
import type { Form, FormError } from '../../../control-plane/src/forms/form.js'
import { configRoutes } from '../../../control-plane/src/http/forms/config.js'
import { formRoutes, shownForm } from '../../../control-plane/src/http/forms/forms.js'
import { ADMIN, ANN, routeApp } from './route-app.js'

/** What the file of a form says, beside its name. */
function form(name: string, source: Record<string, unknown> = {}, more: Partial<Form> = {}): Form {
  return {
    name,
    type: 'ansible',
    description: null,
    categories: [],
    roles: ['default'],
    fields: [],
    wizard: [],
    varsFiles: ['hosts.yml'],
    credentials: {},
    ansibleCredentials: null,
    vaultCredentials: [],
    source: { name, ...source },
    ...more,
  } as unknown as Form
}

/** How a job of the form runs. Who fills the form in has no need of it, and it may name hosts, accounts and files. */
const RUN_PROPERTIES = `
  playbook playbookSubPath playbookFiles inventory tags limit check diff verbose keepExtravars
  allowJinjaInExtravars userExtravars varsFiles launchValidation credentials ansibleCredentials
  awxCredentials vaultCredentials runner roles approval notifications steps workflow template awx
  instanceGroups executionEnvironment executionImage scmBranch scm_branch
`
  .trim()
  .split(/\s+/)

test.each(RUN_PROPERTIES)('the property %s of a form is not shown to who may launch it', (property) => {
  const shown = shownForm(form('F', { [property]: 'secret', icon: 'star', help: 'Fill it in' }))
  expect(shown).toEqual({
    name: 'F',
    type: 'ansible',
    description: null,
    categories: [],
    fields: [],
    icon: 'star',
    help: 'Fill it in',
  })
})

test('a form is shown with the fields of its file, and one without a list of fields has none', () => {
  expect(shownForm(form('F', { fields: [{ name: 'a' }] })).fields).toEqual([{ name: 'a' }])
  expect(shownForm(form('F', { fields: 'none' })).fields).toEqual([])
  expect(shownForm(form('F', {}, { description: 'D', categories: ['C'] }))).toMatchObject({
    description: 'D',
    categories: ['C'],
  })
})

const ERRORS: readonly FormError[] = [{ file: 'a.yml', line: 3, form: 'A', reason: 'wrong' }]
const FORMS = [
  form('Open', { icon: 'star', playbook: 'x.yml', fields: [{ name: 'a' }], help: 'H' }, { categories: ['Web'] }),
  form('Closed', {}, { roles: ['ops'], description: 'D' }),
  form('Part', {}, { type: 'subform', roles: [], varsFiles: [] } as Partial<Form>),
]

function deps(forms: readonly Form[] = FORMS, config: object = {}) {
  return {
    forms: {
      all: () => Promise.resolve(forms),
      find: (name: string) => {
        const found = forms.find((one) => one.name === name)
        return found ? Promise.resolve(found) : Promise.reject(new Error('no such form'))
      },
      errors: () => Promise.resolve(ERRORS),
      functions: () => Promise.resolve([]),
      contextOf: () => Promise.resolve({ subforms: { Part: [] }, constants: { region: 'eu' } }),
    },
    workflows: {
      errors: () => Promise.resolve([{ file: 'w.yml', line: null, form: null, reason: 'odd' }]),
    },
    roles: {
      problem: () => ({ file: 'config.yaml', line: 1, reason: 'broken' }),
      current: () => Promise.resolve({ roles: [{ name: 'admin' }], ...config }),
    },
  } as unknown as Parameters<typeof configRoutes>[0]
}
const namesIn = (list: unknown) => (list as { name: string }[]).map(({ name }) => name)

describe('the list of forms', () => {
  test('has the forms that the caller may launch, and no subforms', async () => {
    const { call } = await routeApp(formRoutes(deps()))
    const { body } = await call('GET', '/forms')
    expect(body).toEqual({ count: 1, records: [expect.objectContaining({ name: 'Open', fields: [{ name: 'a' }] })] })
    const short = await call('GET', '/forms?fields=false')
    expect(short.body.records).toEqual([expect.objectContaining({ name: 'Open', icon: 'star', fields: [] })])
    const whole = await call('GET', '/forms?fields=true')
    expect(whole.body.records).toEqual([expect.objectContaining({ fields: [{ name: 'a' }] })])
  })

  test('says to admins what is wrong, and what forms need', async () => {
    const { call } = await routeApp(formRoutes(deps()), ADMIN)
    const { body } = await call('GET', '/forms')
    expect(namesIn(body.records)).toEqual(['Open', 'Closed'])
    expect(body.errors).toEqual([
      { file: 'config.yaml', line: 1, form: null, reason: 'broken' },
      ...ERRORS,
      { file: 'w.yml', line: null, form: null, reason: 'odd' },
    ])
    const needs = [{ feature: 'vars files', fields: [], names: ['hosts.yml'] }]
    expect(body.needs).toEqual(['Open', 'Closed'].map((name) => ({ form: name, needs })))
  })

  test('one form is shown to who may launch it; a subform is shown to nobody', async () => {
    const { call } = await routeApp(formRoutes(deps()))
    expect(await call('GET', '/forms/Open')).toMatchObject({ status: 200, body: { name: 'Open', help: 'H' } })
    expect((await call('GET', '/forms/Closed')).status).toBe(403)
    const part = await call('GET', '/forms/Part')
    expect([part.status, part.body.error]).toEqual([404, "There is no form 'Part' to launch"])
  })
})

describe('the forms for pages of the product family', () => {
  const LISTED = ['icon', 'image', 'tileClass', 'order', 'iconColor', 'iconSize', 'overlayIcon', 'overlayIconColor']

  test('in brief have what a tile shows, and nothing else', async () => {
    const tile = Object.fromEntries(LISTED.map((name) => [name, `of ${name}`]))
    const { call } = await routeApp(configRoutes(deps([form('F', { ...tile, help: 'H', fields: [], tags: 't' })])))
    const { body } = await call('GET', '/config/formlist')
    expect(body.forms).toEqual([{ ...tile, name: 'F', type: 'ansible', description: '', categories: [] }])
  })

  test('have constants only for who may use a form, and mistakes only for admins', async () => {
    const config = { constants: { region: 'eu' }, categories: [{ name: 'Web', icon: 'globe' }] }
    const list = async (...[forms, caller]: [readonly Form[], typeof ANN]) => {
      const { call } = await routeApp(configRoutes(deps(forms, config)), caller)
      return (await call('GET', '/config/formlist')).body
    }
    const mine = await list(FORMS, ANN)
    expect(mine).toMatchObject({ constants: { region: 'eu' }, errors: [], warnings: [] })
    expect([namesIn(mine.forms), mine.categories]).toEqual([['Open'], config.categories])
    expect(await list(FORMS.slice(1), ANN)).toMatchObject({ forms: [], constants: {} })
    const all = await list(FORMS, ADMIN)
    expect(namesIn(all.forms)).toEqual(['Open', 'Closed'])
    expect(all.errors).toEqual(['config.yaml, line 1: broken', 'a.yml, line 3, form A: wrong', 'w.yml: odd'])
  })

  test('without categories and constants have the usual category and none', async () => {
    const { call } = await routeApp(configRoutes(deps()))
    const { body } = await call('GET', '/config/formlist')
    expect(body).toMatchObject({ constants: {}, categories: [{ name: 'Default' }] })
  })

  test('one form comes with its subforms and constants, for who may use it', async () => {
    const { call } = await routeApp(configRoutes(deps()))
    const { body } = await call('GET', '/config/form?name=Open')
    expect(body).toMatchObject({
      forms: [{ name: 'Open', subforms: [{ name: 'Part' }], vars: { region: 'eu' } }],
      constants: { region: 'eu' },
      errors: [],
      warnings: [],
    })
    expect((body.forms as { subforms: unknown[] }[])[0]?.subforms).toHaveLength(1)
    expect(await call('GET', '/config/form?name=Closed')).toMatchObject({
      status: 403,
      body: { code: 'form_not_allowed' },
    })
    for (const query of ['', '?name='])
      expect(await call('GET', `/config/form${query}`)).toMatchObject({ status: 400, body: { code: 'name_missing' } })
  })

  test('all of every form is for admins', async () => {
    expect((await (await routeApp(configRoutes(deps()))).call('GET', '/config')).status).toBe(403)
    const { body } = await (await routeApp(configRoutes(deps()), ADMIN)).call('GET', '/config')
    expect(namesIn(body.forms)).toEqual(['Open', 'Closed', 'Part'])
    expect(body).toMatchObject({
      forms: [{ name: 'Open', playbook: 'x.yml', type: 'ansible', categories: ['Web'] }, {}, {}],
      roles: [{ name: 'admin' }],
      constants: {},
      categories: [{ name: 'Default' }],
      errors: [expect.any(String), expect.any(String), expect.any(String)],
    })
  })
})
