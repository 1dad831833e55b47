import { Type } from 'typebox'
import { FIELD_TYPES } from './field.js'

const Text = Type.String()
const Flag = Type.Optional(Type.Boolean())
const Name = Type.String({ minLength: 1, maxLength: 200 })
const OptionalName = Type.Optional(Type.String({ maxLength: 200 }))
const Bound = Type.Optional(Type.Union([Type.Number(), Text]))
const Description = Type.Optional(Type.Union([Text, Type.Null()]))
const Comparison = Type.Optional(Type.Object({ field: Name, description: Description }))

/** The names of special kinds of expressions in the product family. */
const FIELD_ALIASES = ['local', 'local_out', 'credential'] as const

/** Names of types in older forms: `query` is an enum, `table` a list. */
const OLDER_TYPES = ['query', 'table'] as const

/** Most columns of a table. */
const MAX_COLUMNS = 1000

const properties = {
  name: Type.String({ minLength: 1, maxLength: 200, pattern: '^[A-Za-z0-9_-]+(?: +[A-Za-z0-9_-]+)*$' }),
  type: Type.Optional(Type.Enum([...FIELD_TYPES, ...FIELD_ALIASES, ...OLDER_TYPES])),
  label: Type.Optional(Type.Union([Text, Type.Null()])),
  required: Flag,
  dependencies: Type.Optional(
    Type.Array(Type.Object({ name: Name, values: Type.Optional(Type.Array(Type.Unknown())), isValid: Flag })),
  ),
  dependencyFn: Type.Optional(Type.Enum(['and', 'or', 'nand', 'nor'])),
  ignoreIncomplete: Flag,
  minSize: Bound,
  maxSize: Bound,
  minValue: Bound,
  maxValue: Bound,
  minLength: Bound,
  maxLength: Bound,
  // A text stands for the expression alone.
  regex: Type.Optional(Type.Union([Type.Object({ expression: Text, description: Description }), Text])),
  validIf: Comparison,
  validIfNot: Comparison,
  notIn: Comparison,
  in: Comparison,
  sameAs: Type.Optional(Name),
  default: Type.Optional(Type.Unknown()),
  evalDefault: Flag,
  output: Flag,
  noOutput: Flag,
  model: Type.Optional(Type.Union([Text, Type.Array(Text)])),
  asCredential: Flag,
  value: Type.Optional(Type.Unknown()),
  values: Type.Optional(Type.Array(Type.Unknown())),
  expression: Type.Optional(Text),
  runLocal: Flag,
  query: Type.Optional(Text),
  dbConfig: Type.Optional(Type.Unknown()),
  jq: Type.Optional(Type.Unknown()),
  refresh: Type.Optional(Type.Unknown()),
  cache: Type.Optional(Type.Unknown()),
  editable: Flag,
  multiple: Flag,
  horizontal: Type.Optional(Type.Unknown()),
  valueColumn: OptionalName,
  placeholderColumn: OptionalName,
  outputObject: Flag,
  dateType: Type.Optional(Type.Enum(['date', 'datetime', 'time', 'month', 'year', 'week'])),
  yamlError: Type.Optional(Type.Object({ description: Description })),
  subform: OptionalName,
  insertMarker: OptionalName,
  updateMarker: OptionalName,
  deleteMarker: OptionalName,
  allowDelete: Flag,
}

/** A field as its file has it. Properties that only pages use are kept as they are. */
export const FieldFile = Type.Object({
  ...properties,
  // The columns of a table. `from` names the field that has the options of the column.
  tableFields: Type.Optional(
    Type.Array(Type.Object({ ...properties, from: Type.Optional(Name) }), { maxItems: MAX_COLUMNS }),
  ),
})

/** A page of a wizard as its file has it. */
export const WizardStepFile = Type.Object({
  subform: Name,
  name: OptionalName,
  defaultModel: OptionalName,
  when: Type.Optional(Text),
  optional: Flag,
})
