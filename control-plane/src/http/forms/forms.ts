import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { NotFoundError } from '../../errors.js'
import type { RoleFileProblem } from '../../auth/roles/role-source.js'
import type { Form, FormError, Forms } from '../../forms/form.js'
import { FORM_FEATURES, needsOf } from '../../forms/form-needs.js'
import { mayUseForm } from '../../forms/visibility.js'
import { requireForm } from '../../jobs/launch/may-launch.js'
import { callerOf } from '../route/guards.js'
import { answers, asList, booleanText, listOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const ListedForm = Type.Object(
  {
    name: Type.String(),
    type: Type.String(),
    description: nullable(Type.String()),
    categories: Type.Array(Type.String()),
    fields: Type.Array(Type.Unknown()),
  },
  { title: 'ListedForm', additionalProperties: true, description: 'Also the properties that only pages use' },
)

const LeftOut = Type.Object({
  file: Type.String(),
  line: nullable(Type.Integer()),
  form: nullable(Type.String()),
  reason: Type.String(),
})

const FileLeftOut = Type.Object({ path: Type.String(), reason: Type.String() })

const Needs = Type.Object({
  form: Type.String(),
  needs: Type.Array(
    Type.Object({
      feature: Type.String({ description: FORM_FEATURES.join(', ') }),
      fields: Type.Array(Type.String(), { description: 'The fields that need it; none: the whole form' }),
      names: Type.Array(Type.String(), {
        description: 'Databases, functions, credentials, files or systems that the form names for it',
      }),
    }),
  ),
})

const FormList = Type.Object(
  {
    ...listOf(ListedForm).properties,
    needs: Type.Optional(
      Type.Array(Needs, {
        description: 'For admins: what each form needs from outside, such as databases; only forms that need something',
      }),
    ),
    errors: Type.Optional(
      Type.Array(LeftOut, { description: 'For admins: forms and workflows that were left out, and why' }),
    ),
    files_left_out: Type.Optional(
      Type.Array(FileLeftOut, {
        description: 'For admins: what of the playbook folder cannot travel to runners. Jobs that name it are refused',
      }),
    ),
  },
  { title: 'FormList' },
)

/** The properties with which a job runs are not shown. All other properties of a form are for the pages. */
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
  'executionImage',
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

/** What is needed to tell which forms and workflows are not in force. */
export interface FormProblemsDependencies {
  readonly forms: Forms
  readonly workflows: { errors(): Promise<readonly FormError[]> }
  readonly roles: { problem(): RoleFileProblem | null }
}

/** What the routes for forms need of other rooms. */
export interface FormRoutesDependencies extends FormProblemsDependencies {
  readonly folderReport: { read(): Promise<readonly { readonly path: string; readonly reason: string }[]> }
}

/** Most entries of the playbook folder that are listed. */
const MAX_FILES_LEFT_OUT = 1000

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
          querystring: Type.Object({
            fields: Type.Optional(booleanText('false leaves the fields out: they are then empty')),
          }),
          response: answers(FormList),
        },
      },
      async (request) => {
        const caller = callerOf(request)
        const forms = await deps.forms.all()
        const mine = forms.filter((form) => form.type !== 'subform' && mayUseForm(caller, form))
        const isShort = request.query.fields === 'false'
        const list = asList(mine.map((form) => (isShort ? { ...shownForm(form), fields: [] } : shownForm(form))))
        if (!caller.isAdmin) return list
        const own = await deps.forms.functions()
        const needs = forms.map((form) => ({ form: form.name, needs: needsOf(form, own) }))
        return {
          ...list,
          needs: needs.filter((one) => one.needs.length > 0),
          errors: await formProblems(deps),
          files_left_out: (await deps.folderReport.read()).slice(0, MAX_FILES_LEFT_OUT),
        }
      },
    )

    app.get(
      '/forms/:name',
      {
        config: { audit: { action: 'form.read', kind: 'form' } },
        schema: {
          tags: ['forms'],
          summary: 'One form with its fields',
          operationId: 'getListedForm',
          params: Type.Object({ name: Type.String() }),
          response: answers(ListedForm, 400, 403, 404),
        },
      },
      async (request) => {
        const { name } = request.params
        const form = await deps.forms.find(name)
        // A subform is shown with the forms that it is a part of.
        if (form.type === 'subform') throw new NotFoundError('form_not_found', `There is no form '${name}' to launch`)
        requireForm(form, callerOf(request))
        return shownForm(form)
      },
    )
  }
}

/** The parts of the roles, forms and workflows that are not in force, and why. */
export async function formProblems(deps: FormProblemsDependencies): Promise<FormError[]> {
  const roles = deps.roles.problem()
  const broken = await Promise.all([deps.forms.errors(), deps.workflows.errors()])
  return [...(roles ? [{ ...roles, form: null }] : []), ...broken.flat()]
}

/** A form as pages see it, without the properties that only its jobs need. */
export function shownForm(form: Form) {
  const forPages = Object.entries(form.source).filter(([key]) => !RUN_PROPERTIES.includes(key))
  const { name, type, description, categories } = form
  const fields = Array.isArray(form.source.fields) ? (form.source.fields as unknown[]) : []
  return { ...Object.fromEntries(forPages), name, type, description, categories: [...categories], fields }
}
