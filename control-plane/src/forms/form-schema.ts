import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'

const Text = Type.String()
const Flag = Type.Optional(Type.Boolean())
const Names = Type.Array(Type.String({ minLength: 1 }))
const TextOrList = Type.Union([Text, Type.Array(Text)])

/** Types that need a foreign system load like the others; only a launch refuses them. */
export const FORM_TYPES = [
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

const Field = Type.Object({
  name: Type.String({ minLength: 1 }),
  type: Type.Optional(Text),
  model: Type.Optional(TextOrList),
})

/** What a form must be to be loaded. Properties that are not named here are other people's and stay as they are. */
const FormFile = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  type: Type.Optional(Type.Enum([...FORM_TYPES])),
  roles: Type.Optional(Names),
  description: Type.Optional(Text),
  categories: Type.Optional(Names),
  fields: Type.Optional(Type.Array(Field)),
  runner: Type.Optional(Text),
  abortable: Flag,
  allowRelaunch: Flag,
  disableRelaunch: Flag,
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
})

export type FormFile = Static<typeof FormFile>
export const formFile = Compile(FormFile)
