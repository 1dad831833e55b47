import type { Client } from '@holdfast/client'
import * as v from 'valibot'
import { UnknownNameError } from '../../errors.js'

const text = v.fallback(v.optional(v.nullable(v.string()), null), null)
const flag = v.fallback(v.optional(v.boolean(), false), false)
const bound = v.fallback(v.optional(v.nullable(v.union([v.number(), v.string()])), null), null)
const comparison = v.fallback(v.optional(v.nullable(v.object({ field: v.string() })), null), null)
const pattern = v.fallback(
  v.optional(v.nullable(v.union([v.string(), v.object({ expression: v.string(), description: text })])), null),
  null,
)
const condition = v.object({
  name: v.string(),
  values: v.optional(v.array(v.unknown())),
  isValid: v.optional(v.boolean()),
})

/** The part of a field that is printed for people; `--json` has all of it. A property with another type counts as absent. */
const fieldSchema = v.object({
  name: v.fallback(v.optional(v.string(), ''), ''),
  type: v.fallback(v.optional(v.string(), 'text'), 'text'),
  label: text,
  help: text,
  required: flag,
  multiple: flag,
  default: v.optional(v.unknown()),
  values: v.fallback(v.optional(v.nullable(v.array(v.unknown())), null), null),
  valueColumn: text,
  minValue: bound,
  maxValue: bound,
  minLength: bound,
  maxLength: bound,
  minSize: bound,
  maxSize: bound,
  regex: pattern,
  in: comparison,
  notIn: comparison,
  validIf: comparison,
  validIfNot: comparison,
  sameAs: text,
  dateType: text,
  subform: text,
  dependencies: v.fallback(v.optional(v.nullable(v.array(condition)), null), null),
})
/** A field of a form, as it is printed for people. */
export type FormField = v.InferOutput<typeof fieldSchema>

const stepSchema = v.object({ name: text, subform: v.string(), optional: flag })
const fields = v.fallback(v.optional(v.array(fieldSchema), []), [])
const formSchema = v.object({
  type: text,
  description: text,
  timeout: v.fallback(v.optional(v.nullable(v.union([v.number(), v.string()])), null), null),
  concurrency: v.fallback(
    v.optional(
      v.nullable(
        v.object({ group: v.string(), limit: v.optional(v.number(), 1), on: v.optional(v.string(), 'queue') }),
      ),
      null,
    ),
    null,
  ),
  fields,
  wizard: v.fallback(v.optional(v.array(stepSchema), []), []),
  subforms: v.fallback(v.optional(v.array(v.object({ name: v.string(), fields })), []), []),
})

/** Fields that are filled in together: those of the form, of a step of its wizard, or of the rows of a list. */
export interface FieldGroup {
  /** The name of the step or list under which the values are given. Null: they are given under their own names. */
  readonly under: string | null
  readonly isRows: boolean
  readonly fields: readonly FormField[]
}

/** Asks for a form that the caller may launch, with all that the service tells of it. @throws NotFoundError, CliError */
export async function fetchForm(client: Client, name: string) {
  const form = (await client.getForm({ name })).forms[0]
  if (form) return form
  throw new UnknownNameError(`There is no form ${JSON.stringify(name)} that you may launch; see holdfast form list.`)
}

/** Type, description and limits of a form, by name. */
export function formHeadOf(form: unknown): Readonly<Record<string, string | null>> {
  const { type, description, timeout, concurrency } = v.parse(formSchema, form)
  return {
    type,
    description,
    ...(timeout === null ? {} : { timeout: typeof timeout === 'number' ? `${timeout} s` : timeout }),
    ...(concurrency === null ? {} : { concurrency: concurrencyText(concurrency) }),
  }
}

function concurrencyText({
  group,
  limit,
  on,
}: {
  readonly group: string
  readonly limit: number
  readonly on: string
}) {
  const then = on === 'refuse' ? 'a launch beyond that is refused' : 'the others wait'
  return `${limit} at once in the group ${group}; ${then}`
}

/** The fields of a form, then those of the steps of its wizard and of the rows of its lists. */
export function fieldGroupsOf(form: unknown): FieldGroup[] {
  const { fields: own, wizard, subforms } = v.parse(formSchema, form)
  const byName = new Map(subforms.map((subform) => [subform.name, subform.fields]))

  /** @param above the subforms around this group. A subform that contains itself is not listed again */
  function groupsOf(group: FieldGroup, above: readonly string[]): FieldGroup[] {
    const ofLists = group.fields.flatMap(({ name, subform }) => {
      if (subform === null || above.includes(subform)) return []
      const under = group.under === null ? name : `${group.under}.${name}`
      return groupsOf({ under, isRows: true, fields: byName.get(subform) ?? [] }, [...above, subform])
    })
    return [group, ...ofLists]
  }

  return [
    ...groupsOf({ under: null, isRows: false, fields: own }, []),
    ...wizard.flatMap(({ name, subform }) =>
      groupsOf({ under: name ?? subform, isRows: false, fields: byName.get(subform) ?? [] }, [subform]),
    ),
  ]
}
