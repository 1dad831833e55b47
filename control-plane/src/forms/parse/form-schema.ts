import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { MAX_VAULTS, VAULT_ID } from '../../credentials/job/vault-needs.js'
import { FieldFile, WizardStepFile } from '../fields/field-schema.js'
import { LAUNCH_VALIDATIONS } from '../form.js'

const Text = Type.String()
const Flag = Type.Optional(Type.Boolean())
const Names = Type.Array(Type.String({ minLength: 1 }))
const TextOrList = Type.Union([Text, Type.Array(Text)])

/** Forms of types that need another system load like the others. Only a launch refuses them. */
const FORM_TYPES = [
  'ansible',
  'multistep',
  'workflow',
  'subform',
  'awx',
  'aap',
  'ascender',
  'semaphore',
  'rundeck',
  'jenkins',
] as const

/** Types of a step. Those that need another system load, too. */
const STEP_TYPES = ['ansible', 'awx', 'aap', 'ascender', 'semaphore', 'rundeck', 'jenkins'] as const

/** Most fields of one form. */
const MAX_FIELDS = 1000
const MAX_STEPS = 500

const Approval = Type.Object({
  title: Type.Optional(Text),
  message: Type.Optional(Text),
  roles: Names,
  notifications: Type.Optional(Type.Array(Text)),
  allowSelf: Flag,
})

/** One vault password, or several: names of credentials, each perhaps with the id that ansible-vault knows it by. */
export const VaultCredentials = Type.Union([
  Text,
  Type.Array(
    Type.Union([
      Type.String({ minLength: 1 }),
      Type.Object({
        name: Type.String({ minLength: 1 }),
        // Null in a form that was already parsed.
        id: Type.Optional(Type.Union([Type.String({ pattern: VAULT_ID }), Type.Null()])),
      }),
    ]),
    { maxItems: MAX_VAULTS },
  ),
])

/** The properties of a form or step that say how its playbook runs. */
const runProperties = {
  approval: Type.Optional(Approval),
  credentials: Type.Optional(Type.Record(Type.String({ minLength: 1 }), Type.String({ minLength: 1 }))),
  ansibleCredentials: Type.Optional(Text),
  vaultCredentials: Type.Optional(VaultCredentials),
  runner: Type.Optional(Text),
  varsFiles: Type.Optional(Type.Array(Type.String({ minLength: 1 }))),
  playbook: Type.Optional(Type.String({ minLength: 1 })),
  playbookSubPath: Type.Optional(Text),
  inventory: Type.Optional(TextOrList),
  tags: Type.Optional(TextOrList),
  limit: Type.Optional(Text),
  check: Flag,
  diff: Flag,
  verbose: Flag,
  keepExtravars: Flag,
  allowJinjaInExtravars: Flag,
  executionImage: Type.Optional(Text),
  playbookFiles: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), { maxItems: 1000 })),
}

/** A step of a multistep form. */
const StepFile = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  type: Type.Optional(Type.Enum([...STEP_TYPES])),
  key: Type.Optional(Text),
  ifExtraVar: Type.Optional(Text),
  continue: Flag,
  always: Flag,
  // Read by notifications.ts, as those of the form are.
  notifications: Type.Optional(Type.Unknown()),
  ...runProperties,
})

/** A step of a multistep form as its file has it. */
export type StepFile = Static<typeof StepFile>

/** The properties that a form must have to be loaded. Other properties are kept unchanged. */
const FormFile = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  type: Type.Optional(Type.Enum([...FORM_TYPES])),
  roles: Type.Optional(Names),
  description: Type.Optional(Text),
  categories: Type.Optional(Names),
  fields: Type.Optional(Type.Union([Type.Array(FieldFile, { maxItems: MAX_FIELDS }), Type.Null()])),
  wizard: Type.Optional(Type.Array(WizardStepFile, { maxItems: 100 })),
  launchValidation: Type.Optional(Type.Enum([...LAUNCH_VALIDATIONS])),
  userExtravars: Type.Optional(TextOrList),
  abortable: Flag,
  allowRelaunch: Flag,
  disableRelaunch: Flag,
  // Read by limits.ts, whose messages name the value.
  timeout: Type.Optional(Type.Unknown()),
  concurrency: Type.Optional(Type.Unknown()),
  // Read by notifications.ts.
  notifications: Type.Optional(Type.Unknown()),
  steps: Type.Optional(Type.Array(StepFile, { maxItems: MAX_STEPS })),
  workflow: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })),
  ...runProperties,
})

/** A form as its file has it. */
export type FormFile = Static<typeof FormFile>
/** Checks a form file. Its properties are checked further when the form is parsed. */
export const formFile = Compile(FormFile)
