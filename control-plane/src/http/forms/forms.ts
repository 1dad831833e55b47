import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { RoleFileProblem } from '../../auth/role-source.js'
import type { Form, FormError, Forms } from '../../forms/form.js'
import { mayUseForm } from '../../forms/visibility.js'
import { callerOf } from '../route/guards.js'
import { answers, asList, listOf, nullable } from '../route/schemas.js'

const ListedForm = Type.Object(
  {
    name: Type.String(),
    type: Type.String(),
    description: nullable(Type.String()),
    categories: Type.Array(Type.String()),
    fields: Type.Array(Type.Unknown()),
  },
  { title: 'ListedForm', additionalProperties: true, description: 'Also the properties that only matter to a page' },
)

const LeftOut = Type.Object({
  file: Type.String(),
  line: nullable(Type.Integer()),
  form: nullable(Type.String()),
  reason: Type.String(),
})

const FormList = Type.Object(
  {
    ...listOf(ListedForm).properties,
    errors: Type.Optional(
      Type.Array(LeftOut, { description: 'For admins: forms and workflows that were left out, and why' }),
    ),
  },
  { title: 'FormList' },
)

/** What a job runs with is not shown. All other properties of a form are for the pages that show it. */
const RUN_PROPERTIES = [
  'allowJinjaInExtravars',
  'ansibleCredentials',
  'approval',
  'awx',
  'awxCredentials',
  'check',
  'credentials',
  'diff',
  'executionEnvironment',
  'instanceGroups',
  'inventory',
  'keepExtravars',
  'launchValidation',
  'limit',
  'notifications',
  'playbook',
  'playbookFiles',
  'playbookSubPath',
  'roles',
  'runner',
  'scmBranch',
  'scm_branch',
  'steps',
  'tags',
  'template',
  'userExtravars',
  'varsFiles',
  'vaultCredentials',
  'verbose',
  'workflow',
]

export interface FormRoutesDependencies {
  readonly forms: Forms
  readonly workflows: { errors(): Promise<readonly FormError[]> }
  readonly roles: { problem(): RoleFileProblem | null }
}

/** Routes for the forms that the caller may launch. Admins also see which forms were left out, and why. */
export function formRoutes(deps: FormRoutesDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/forms',
      {
        schema: {
          tags: ['forms'],
          summary: 'The forms that the caller may launch',
          operationId: 'listForms',
          response: answers(FormList),
        },
      },
      async (request) => {
        const caller = callerOf(request)
        const forms = await deps.forms.all()
        const mine = forms.filter((form) => form.type !== 'subform' && mayUseForm(caller, form))
        const list = asList(mine.map(shownForm))
        return caller.isAdmin ? { ...list, errors: await formProblems(deps) } : list
      },
    )
  }
}

/** What of the roles, forms and workflows is not in force, and why. */
export async function formProblems(deps: FormRoutesDependencies): Promise<FormError[]> {
  const roles = deps.roles.problem()
  const broken = await Promise.all([deps.forms.errors(), deps.workflows.errors()])
  return [...(roles ? [{ ...roles, form: null }] : []), ...broken.flat()]
}

/** A form as pages see it: without what only its jobs need. */
export function shownForm(form: Form) {
  const forPages = Object.entries(form.source).filter(([key]) => !RUN_PROPERTIES.includes(key))
  const { name, type, description, categories } = form
  const fields = Array.isArray(form.source.fields) ? (form.source.fields as unknown[]) : []
  return { ...Object.fromEntries(forPages), name, type, description, categories: [...categories], fields }
}
