/** The types of fields, after their aliases are resolved. */
export const FIELD_TYPES = [
  'text',
  'textarea',
  'password',
  'number',
  'checkbox',
  'radio',
  'enum',
  'datetime',
  'file',
  'html',
  'expression',
  'yaml',
  'list',
] as const
/** One of {@link FIELD_TYPES}. */
export type FieldType = (typeof FIELD_TYPES)[number]

/** The source of a field's value. For choices and lists it is the source of the options or the first rows. */
export type FieldSource =
  | { readonly kind: 'client' }
  | { readonly kind: 'constant'; readonly value: unknown }
  /** JavaScript over the form's values, run in the sandbox. */
  | { readonly kind: 'local'; readonly expression: string }
  /**
   * The same for an expression that the product family evaluates on its server. It may ask sources.
   * @property jq a filter for the result; null: none
   */
  | { readonly kind: 'server'; readonly expression: string; readonly jq: string | null }
  /** Rows of a database. @property config `dbConfig` as the file has it */
  | { readonly kind: 'query'; readonly query: string; readonly config: unknown; readonly jq: string | null }
  /** Calls functions that this service does not have. */
  | { readonly kind: 'remote'; readonly functions: readonly string[] }

/** When a field is shown: a condition on another field of the same form. */
export type Dependency =
  | { readonly on: string; readonly inverted: boolean; readonly values: readonly unknown[] }
  | { readonly on: string; readonly inverted: boolean; readonly isValid: boolean }

/** How several conditions of a field count together. */
export type DependencyFn = 'and' | 'or' | 'nand' | 'nor'

/** A limit as the file has it: a number, or a text that may contain placeholders. */
export type Limit = number | string

/** A regular expression that a value has to match, and the message if it does not. */
export interface PatternRule {
  readonly expression: string
  readonly description: string | null
}

/** A rule of a field: an expression that has to be true, and the message if it is not. */
export interface FieldRule {
  readonly field: string
  readonly description: string | null
}

/** The rules of a field; null: it has no such rule. */
export interface FieldRules {
  readonly required: boolean
  readonly minSize: Limit | null
  readonly maxSize: Limit | null
  readonly minValue: Limit | null
  readonly maxValue: Limit | null
  readonly minLength: Limit | null
  readonly maxLength: Limit | null
  readonly regex: PatternRule | null
  readonly validIf: FieldRule | null
  readonly validIfNot: FieldRule | null
  readonly notIn: FieldRule | null
  readonly in: FieldRule | null
  readonly sameAs: string | null
}

/** The kinds of date fields. */
export type DateType = 'date' | 'datetime' | 'time' | 'month' | 'year' | 'week'

/** The keys that mark what was done with the rows of a list. */
export interface RowMarkers {
  readonly insert: string | null
  readonly update: string | null
  readonly delete: string | null
}

/**
 * A checked field of a form, with everything that decides about its value. It is plain data, because it is sent to the
 * thread that checks.
 */
export interface Field {
  readonly name: string
  readonly type: FieldType
  readonly label: string
  readonly source: FieldSource
  /** How long an answer of its source is used, in milliseconds. Undefined: for the default time. */
  readonly keepMs?: number
  /** The value is computed, but the client may replace it. */
  readonly editable: boolean
  /** Null: always shown. An empty list is a condition, too: `or` of nothing is never true. */
  readonly dependencies: readonly Dependency[] | null
  readonly dependencyFn: DependencyFn
  readonly ignoreIncomplete: boolean
  readonly rules: FieldRules
  /** Undefined: none. */
  readonly default?: unknown
  readonly evalDefault: boolean
  readonly output: boolean
  /** Dot paths; empty: the field's own name. */
  readonly model: readonly string[]
  readonly asCredential: boolean
  readonly multiple: boolean
  readonly valueColumn: string | null
  readonly placeholderColumn: string | null
  readonly outputObject: boolean
  readonly dateType: DateType | null
  readonly yamlError: string | null
  readonly subform: string | null
  readonly markers: RowMarkers
}

/** A page of a wizard: the fields of a subform under a name. */
export interface WizardStep {
  readonly name: string
  readonly subform: string
  /** Dot path under which the step's values go; null: the top level. */
  readonly defaultModel: string | null
  /** JavaScript. A falsy result hides the step. */
  readonly when: string | null
  readonly optional: boolean
}
