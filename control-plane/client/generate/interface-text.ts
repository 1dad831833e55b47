import {
  type Schema,
  branchesOf,
  checkText,
  commentOf,
  constantOf,
  neededBy,
  objectText,
  typeText,
} from './schema-text.js'

interface Media {
  readonly schema?: Schema
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const JSON_TYPE = 'application/json'
const MULTIPART_TYPE = 'multipart/form-data'

const HEAD = `// Made from openapi.json by npm run client.
import * as v from 'valibot'
import type { NoParameters, Operation, RequestOptions } from './operation.js'

/** A value that this version of the client does not know. */
export type AnotherWord = string & Record<never, never>
`

/** Types, checks and operations of the interface, as the source of a module. */
export function interfaceText(document: Document): string {
  const { schemas } = document.components
  const operations = Object.entries(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
    )
    // What sends a browser somewhere is for browsers.
    .filter(({ operation }) => !('302' in operation.responses))
  const answered = neededBy(
    operations.map(({ operation }) => answerOf(operation)),
    schemas,
  )
  answered.add('Error')
  return [
    HEAD,
    ...Object.entries(schemas).map(([name, schema]) => declaration(name, schema)),
    ...[...answered].map((name) => check(name, schemas[name] ?? {})),
    '/** The operations of the interface, each by the name that the document gives it. */',
    'export interface Operations {',
    ...operations.map(({ operation }) => signature(operation)),
    '}\n',
    '/** How each operation is asked for and what it answers. */',
    'export const operations = {',
    ...operations.map(({ path, method, operation }) => entry(path, method, operation)),
    '} as const satisfies Readonly<Record<keyof Operations, Operation>>\n',
    '/** The texts by which the answers of operations can be narrowed, each with its sentence. */',
    'export const narrowings = {',
    ...operations.flatMap(({ operation }) => narrowing(operation)),
    '} as const',
  ].join('\n')
}

/** The parameters of a query that are texts, for programs that offer them to people. */
function narrowing({ operationId, parameters = [] }: Operation): string[] {
  const texts = parameters.filter(({ in: place, schema }) => place === 'query' && schema.type === 'string')
  if (texts.length === 0) return []
  const members = texts.map(({ name, description = '' }) => `${name}: ${JSON.stringify(description)}`)
  return [`${operationId}: { ${members.join(', ')} },`]
}

function declaration(name: string, schema: Schema): string {
  return schema.properties
    ? `${commentOf(schema)}export interface ${name === 'Error' ? 'ErrorAnswer' : name} ${objectText(schema)}\n`
    : `${commentOf(schema)}export type ${name} = ${typeText(schema)}\n`
}

function check(name: string, schema: Schema): string {
  const type = name === 'Error' ? 'ErrorAnswer' : name
  return `export const ${constantOf(name)}: v.GenericSchema<unknown, ${type}> = ${checkText(schema)}\n`
}

/** The content type of a success, and its schema when it is JSON. */
function answerOf(operation: Operation): { readonly type: string; readonly schema: Schema | null } {
  const content = operation.responses['200']?.content ?? {}
  const type = Object.keys(content)[0] ?? JSON_TYPE
  return { type, schema: type === JSON_TYPE ? (content[type]?.schema ?? {}) : null }
}

function signature(operation: Operation): string {
  const { schema } = answerOf(operation)
  const members = (operation.parameters ?? []).map((parameter) => {
    const mark = parameter.required ? '' : '?'
    return `${commentOf(parameter)}${parameter.name}${mark}: ${typeText(parameter.schema)}`
  })
  const body = bodyTypeOf(operation)
  if (body) members.push(`body${body.required ? '' : '?'}: ${body.type}`)
  const isNeeded = (body?.required ?? false) || (operation.parameters ?? []).some(({ required }) => required)
  const request = members.length === 0 ? 'NoParameters' : `{\n${members.join('\n')}\n}`
  const comment = commentOf({ description: [operation.summary, operation.description].filter(Boolean).join('\n\n') })
  const answer = schema ? typeText(schema) : 'Response'
  return `${comment}${operation.operationId}(request${isNeeded ? '' : '?'}: ${request}, options?: RequestOptions): Promise<${answer}>`
}

function bodyTypeOf({ requestBody }: Operation): { readonly type: string; readonly required: boolean } | null {
  if (!requestBody) return null
  if (requestBody.content[MULTIPART_TYPE]) return { type: 'FormData', required: true }
  const schema = requestBody.content[JSON_TYPE]?.schema ?? {}
  const mayBeMissing = branchesOf(schema)?.some(({ type }) => type === 'null') ?? false
  return { type: typeText(schema), required: !mayBeMissing }
}

function entry(path: string, method: string, operation: Operation): string {
  const { type, schema } = answerOf(operation)
  const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query').map(({ name }) => name)
  const isOpen = operation.security?.every((way) => !('bearer' in way)) ?? false
  const members = [
    `method: '${method}'`,
    `path: '${path.replace(/^\/api\/v2/, '')}'`,
    `query: ${JSON.stringify(query)}`,
    `accept: '${type}'`,
    `schema: ${schema ? checkText(schema) : 'null'}`,
    ...(isOpen ? ['open: true'] : []),
  ]
  return `${operation.operationId}: { ${members.join(', ')} },`
}
