import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Caller } from '../../auth/sessions/caller.js'
import { type RoleConfig, DEFAULT_CATEGORY } from '../../auth/roles/role-config.js'
import { ForbiddenError, InvalidInputError } from '../../errors.js'
import type { Form, FormError } from '../../forms/form.js'
import { mayUseForm } from '../../forms/visibility.js'
import { callerOf, requireAdmin } from '../route/guards.js'
import { answers } from '../route/schemas.js'
import { type FormProblemsDependencies, formProblems, shownForm } from './forms.js'

const Constants = Type.Record(Type.String(), Type.Unknown(), { description: 'What forms refer to as $(name)' })
const Sentences = Type.Array(Type.String())

const CategoryOfForms = Type.Object(
  { name: Type.String(), icon: Type.String(), items: Type.Optional(Type.Array(Type.Unknown())) },
  { title: 'CategoryOfForms', description: 'items: the categories below it, in the same shape' },
)

const ShownForm = Type.Object(
  { name: Type.String(), categories: Type.Array(Type.String()) },
  { title: 'ShownForm', additionalProperties: true },
)

const FormConfig = Type.Object(
  {
    forms: Type.Array(ShownForm),
    constants: Constants,
    categories: Type.Optional(Type.Array(CategoryOfForms)),
    roles: Type.Optional(Type.Array(Type.Record(Type.String(), Type.Unknown()))),
    errors: Sentences,
    warnings: Sentences,
  },
  { title: 'FormConfig' },
)

const WholeForm = Type.Object(
  { ...FormConfig.properties, forms: Type.Array(ShownForm, { description: 'The one form, with its subforms' }) },
  { title: 'WholeForm' },
)

/** The properties of a form in a list of forms. */
const LISTED = ['icon', 'image', 'tileClass', 'order', 'iconColor', 'iconSize', 'overlayIcon', 'overlayIconColor']

type ConfigDependencies = Omit<FormProblemsDependencies, 'roles'> & {
  readonly roles: FormProblemsDependencies['roles'] & { current(): Promise<RoleConfig> }
}

/** Forms, categories and constants in the shape that pages of the product family use. */
export function configRoutes(deps: ConfigDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/config/formlist',
      {
        schema: {
          tags: ['forms'],
          summary: 'The forms that the caller may launch, in brief, with the categories and constants',
          operationId: 'getFormList',
          response: answers(FormConfig),
        },
      },
      async (request) => {
        const caller = callerOf(request)
        const { categories = [DEFAULT_CATEGORY], constants = {} } = await deps.roles.current()
        const mine = (await deps.forms.all()).filter((form) => form.type !== 'subform' && mayUseForm(caller, form))
        return {
          forms: mine.map(inBrief),
          categories: [...categories],
          // As with the forms themselves: a caller who may use none of them sees no constants.
          constants: mine.length > 0 ? constants : {},
          errors: await errorsFor(deps, caller),
          warnings: [],
        }
      },
    )

    app.get(
      '/config/form',
      {
        schema: {
          tags: ['forms'],
          summary: 'One form that the caller may launch, with its subforms and constants',
          operationId: 'getForm',
          querystring: Type.Object({ name: Type.Optional(Type.String({ description: 'Of the form' })) }),
          response: answers(WholeForm, 400, 403, 404),
        },
      },
      async (request) => {
        const { name = '' } = request.query
        if (name === '') throw new InvalidInputError('name_missing', 'The name of the form is missing: ?name=<form>')
        const form = await deps.forms.find(name)
        if (!mayUseForm(callerOf(request), form)) {
          throw new ForbiddenError('form_not_allowed', `Your roles do not allow the form '${form.name}'`)
        }
        const { subforms, constants } = await deps.forms.contextOf(form)
        const reached = (await deps.forms.all()).filter((one) => Object.hasOwn(subforms, one.name))
        const shown = { ...shownForm(form), subforms: reached.map(shownForm), vars: constants }
        return { forms: [shown], constants: { ...constants }, errors: [], warnings: [] }
      },
    )

    app.get(
      '/config',
      {
        onRequest: requireAdmin,
        schema: {
          tags: ['forms'],
          summary: 'All forms as their files have them, with categories, roles and constants (admin)',
          operationId: 'getConfig',
          response: answers(FormConfig, 403),
        },
      },
      async (request) => {
        const { categories = [DEFAULT_CATEGORY], constants = {}, roles } = await deps.roles.current()
        return {
          forms: (await deps.forms.all()).map(asInFile),
          categories: [...categories],
          constants,
          roles: roles.map((role) => ({ ...role })),
          errors: await errorsFor(deps, callerOf(request)),
          warnings: [],
        }
      },
    )
  }
}

function asInFile({ source, name, type, categories }: Form) {
  return { ...source, name, type, categories: [...categories] }
}

/** The mistakes in files of forms; only admins see them. */
async function errorsFor(deps: ConfigDependencies, caller: Caller): Promise<string[]> {
  return caller.isAdmin ? (await formProblems(deps)).map(sentenceOf) : []
}

function inBrief({ name, type, description, categories, source }: Form) {
  const shown = Object.entries(source).filter(([key]) => LISTED.includes(key))
  return { ...Object.fromEntries(shown), name, type, description: description ?? '', categories: [...categories] }
}

function sentenceOf({ file, line, form, reason }: FormError): string {
  const where = line === null ? file : `${file}, line ${line}`
  return form === null ? `${where}: ${reason}` : `${where}, form ${form}: ${reason}`
}
