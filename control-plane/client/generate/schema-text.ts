/** The parts of JSON Schema that the document uses. */
export interface Schema {
  readonly $ref?: string
  /** A list: one of these, most often one and `null`. */
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly format?: string
  readonly enum?: readonly string[]
  readonly const?: string
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  /** Of an object with names of any kind: what each of them has. */
  readonly additionalProperties?: Schema | boolean
  readonly required?: readonly string[]
}

/** `#/components/schemas/Job` → `Job`. */
function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** The schemas of which one has to fit, where there are several. */
export function branchesOf({ anyOf, type, description: _, ...schema }: Schema): readonly Schema[] | null {
  if (anyOf) return anyOf
  if (type === undefined || typeof type === 'string') return null
  return type.map((one) => (one === 'null' ? { type: one } : { ...schema, type: one }))
}

/** The name of the constant that checks a schema. */
export function constantOf(name: string): string {
  return `${name.charAt(0).toLowerCase()}${name.slice(1)}Schema`
}

/** What each name of an object has that may have any names. */
function valueOf({ additionalProperties }: Schema): Schema {
  return typeof additionalProperties === 'object' ? additionalProperties : {}
}

/** A schema as a type. */
export function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  // A later version of the service may know more values.
  if (schema.enum && !Array.isArray(schema.type))
    return [...schema.enum.map((value) => JSON.stringify(value)), 'AnotherWord'].join(' | ')
  const branches = branchesOf(schema)
  if (branches) return branches.map(typeText).join(' | ')
  const { type } = schema
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return `(${typeText(schema.items ?? {})})[]`
    case 'object':
      return schema.properties ? objectText(schema) : `Record<string, ${typeText(valueOf(schema))}>`
    case undefined:
      return 'unknown'
    default:
      throw new Error(`A schema of type ${String(type)} has no type yet`)
  }
}

/** The members of an object as a type. */
export function objectText(schema: Schema): string {
  const members = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const mark = schema.required?.includes(name) ? '' : '?'
    return `${commentOf(property)}${JSON.stringify(name)}${mark}: ${typeText(property)}`
  })
  return `{\n${members.join('\n')}\n}`
}

/** A schema as the valibot schema that checks it. What it does not know is let through: it may be of a later version. */
export function checkText(schema: Schema): string {
  if (schema.$ref !== undefined) return constantOf(nameOf(schema.$ref))
  if (schema.const !== undefined) return `v.literal(${JSON.stringify(schema.const)})`
  if (schema.enum && !Array.isArray(schema.type)) return 'v.string()'
  const branches = branchesOf(schema)
  if (branches) {
    const others = branches.filter(({ type }) => type !== 'null')
    const [only] = others
    const check = others.length === 1 && only ? checkText(only) : `v.union([${others.map(checkText).join(', ')}])`
    return others.length === branches.length ? check : `v.nullable(${check})`
  }
  const { type } = schema
  switch (type) {
    case 'string':
    case 'boolean':
    case 'number':
      return `v.${type}()`
    case 'integer':
      return 'v.pipe(v.number(), v.safeInteger())'
    case 'null':
      return 'v.null()'
    case 'array':
      return `v.array(${checkText(schema.items ?? {})})`
    case 'object':
      return schema.properties ? looseObjectText(schema) : `v.record(v.string(), ${checkText(valueOf(schema))})`
    default:
      return 'v.unknown()'
  }
}

function looseObjectText(schema: Schema): string {
  const members = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const check = checkText(property)
    return `${JSON.stringify(name)}: ${schema.required?.includes(name) ? check : `v.optional(${check})`}`
  })
  return `v.looseObject({ ${members.join(', ')} })`
}

/** The description of a schema as a comment in front of what it describes. */
export function commentOf(schema: { readonly description?: string; readonly anyOf?: readonly Schema[] }): string {
  const description = schema.description ?? schema.anyOf?.find((one) => one.description !== undefined)?.description
  return description === undefined ? '' : `/** ${description.replaceAll('*/', '*\\/').replaceAll('\n', '\n * ')} */\n`
}

/** Names of the schemas that a schema needs, directly or by others. */
export function neededBy(
  schema: unknown,
  all: Readonly<Record<string, Schema>>,
  found = new Set<string>(),
): Set<string> {
  for (const [, name] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (name === undefined || found.has(name)) continue
    neededBy(all[name], all, found)
    // After what it needs itself.
    found.add(name)
  }
  return found
}
