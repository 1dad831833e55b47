/** A JSON schema, as far as values are made from it. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly pattern?: string
  readonly format?: string
}

export interface Parameter {
  readonly in: 'path' | 'query' | 'header'
  readonly name: string
  readonly required?: boolean
  readonly schema?: Schema
}

/** One operation of the service, as its own document describes it. */
export interface Operation {
  /** Such as `POST /job/{id}/abort`: without the prefix that all have. */
  readonly key: string
  readonly method: string
  /** With the prefix, and with `{name}` for parameters. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly body: { readonly contentType: string; readonly schema: Schema } | null
  /** Statuses that the document declares one by one. */
  readonly statuses: readonly number[]
  readonly isPublic: boolean
  /** Its name in the audit trail; null when it changes nothing. */
  readonly auditAction: string | null
}

interface DocumentOperation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }
  readonly responses?: Readonly<Record<string, unknown>>
  readonly security?: readonly unknown[]
  readonly 'x-audit-action'?: string
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

/** What stands before every path of the service. */
export const PREFIX = '/api/v2'

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options']

/** Every operation of an OpenAPI document, in its order. */
export function operationsOf(document: OpenApi): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, operation]) => operationOf(document, path, method, operation)),
  )
}

function operationOf(document: OpenApi, path: string, method: string, operation: DocumentOperation): Operation {
  const [contentType, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  return {
    key: `${method.toUpperCase()} ${path.startsWith(PREFIX) ? path.slice(PREFIX.length) : path}`,
    method: method.toUpperCase(),
    path,
    parameters: operation.parameters ?? [],
    body: contentType === undefined ? null : { contentType, schema: resolved(document, media?.schema ?? {}) },
    statuses: Object.keys(operation.responses ?? {})
      .filter((status) => /^\d+$/.test(status))
      .map(Number),
    isPublic: operation.security?.length === 0,
    auditAction: operation['x-audit-action'] ?? null,
  }
}

/** References to `components` put in place; how deep they may go is bounded, since a schema may hold itself. */
function resolved(document: OpenApi, schema: Schema, depth = 0): Schema {
  if (depth > 12) return {}
  const name = '$ref' in schema ? /^#\/components\/schemas\/(.+)$/.exec(String(schema.$ref))?.[1] : undefined
  if (name !== undefined) return resolved(document, document.components?.schemas?.[name] ?? {}, depth + 1)
  const deeper = (inner: Schema): Schema => resolved(document, inner, depth + 1)
  return {
    ...schema,
    ...(schema.properties && {
      properties: Object.fromEntries(Object.entries(schema.properties).map(([key, inner]) => [key, deeper(inner)])),
    }),
    ...(schema.items && { items: deeper(schema.items) }),
    ...(schema.anyOf && { anyOf: schema.anyOf.map(deeper) }),
    ...(schema.oneOf && { oneOf: schema.oneOf.map(deeper) }),
    ...(typeof schema.additionalProperties === 'object' && {
      additionalProperties: deeper(schema.additionalProperties),
    }),
  }
}
