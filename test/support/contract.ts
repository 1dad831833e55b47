import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/**
 * The promise that the OpenAPI document makes, held against answers: the operation is known, the status, the content type
 * and the headers are declared, the body fits. The document is the committed one; a test of the client says when it is
 * out of date.
 */

/** An answer to be checked. */
export interface CheckedAnswer {
  readonly method: string
  /** Of the request, its path as it was sent; there may be a base URL before `/api/v2`. */
  readonly url: Pick<URL, 'origin' | 'pathname'>
  readonly status: number
  readonly headers: Headers
  /** Undefined: the body is not looked at. */
  readonly body?: string
}

interface Response {
  readonly headers?: Readonly<Record<string, Header>>
  readonly content?: Readonly<Record<string, { readonly schema?: unknown }>>
}
interface Header {
  readonly schema: unknown
}
type Operation = { readonly responses: Readonly<Record<string, Response | Reference>> }
type Reference = { readonly $ref: string }

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const DOCUMENT_PATH = new URL('../../control-plane/client/openapi.json', import.meta.url)

/** Larger bodies are only looked at from outside: they are long outputs, and checking one takes long. */
const MAX_BODY_CHARACTERS = 2 * 1024 * 1024

/** Paths with pages for people and with the runners' socket: not part of the document. */
const NOT_DESCRIBED = /^\/api\/v2\/(docs|rte\/socket)(\/|$)/

/** Refusals that come before there is an operation: their codes by their status. */
const WITHOUT_OPERATION: Readonly<Record<number, readonly string[]>> = {
  400: ['invalid_path', 'invalid_request'],
  404: ['unknown_route', 'not_found'],
  405: ['method_not_allowed'],
  408: ['invalid_request'],
  431: ['invalid_request'],
  503: ['stopping'],
}

/** Servers with routes that a test added. */
const withOwnRoutes = new Set<string>()

/** Says that a server has routes beside those of the document. */
export function allowOwnRoutes(address: string): void {
  withOwnRoutes.add(new URL(address).origin)
}

const loaded: { document: Document | null; ajv: Ajv2020 | null } = { document: null, ajv: null }
const validators = new Map<string, ValidateFunction>()

/** What is wrong with an answer of the service, one sentence each; empty when nothing is. */
export function complaintsAbout(answer: CheckedAnswer): string[] {
  const path = /\/api\/v2(\/.*)?$/.exec(answer.url.pathname)?.[0]
  if (path === undefined || NOT_DESCRIBED.test(path)) return []
  const complaints = [...complaintsInside(answer, path)]
  return complaints.map((complaint) => `${answer.method} ${path} answered ${answer.status}: ${complaint}`)
}

function* complaintsInside(answer: CheckedAnswer, path: string): Generator<string> {
  const { status, headers, body } = answer
  if (!headers.get('x-request-id')) yield 'there is no X-Request-Id'
  // It has no operation of its own, and no body.
  if (answer.method === 'OPTIONS' && status === 204) return
  const operation = operationOf(answer.method, path)
  if (!operation && withOwnRoutes.has(answer.url.origin)) return
  if (isWithoutOperation(answer)) {
    if (body !== undefined) yield* bodyComplaints('/components/schemas/Error', body)
    return
  }
  if (!operation) {
    yield 'the document has no such operation (npm run client makes it anew from the routes)'
    return
  }
  const pointer = `/paths/${escaped(operation.path)}/${operation.method}/responses/${status}`
  const declared = operation.responses[String(status)]
  if (!declared) {
    yield `the document declares only ${Object.keys(operation.responses).join(', ')}`
    return
  }
  const at = '$ref' in declared ? declared.$ref.slice(1) : pointer
  const response = valueAt(at) as Response
  for (const [name, header] of Object.entries(response.headers ?? {})) {
    const reference = (header as unknown as Partial<Reference>).$ref
    yield* headerComplaints(name, reference?.slice(1) ?? `${at}/headers/${escaped(name)}`, headers.get(name))
  }
  const type = headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  // An answer without a body has no content type either.
  if (status === 304) return
  if (!response.content?.[type]) {
    yield `the content type is ${type || 'missing'}, declared is ${Object.keys(response.content ?? {}).join(', ')}`
  } else if (body !== undefined && type === 'application/json') {
    yield* bodyComplaints(`${at}/content/${escaped(type)}/schema`, body)
  }
}

/** Whether the answer is one that any path and any method may get. */
function isWithoutOperation({ status, body }: CheckedAnswer): boolean {
  const codes = WITHOUT_OPERATION[status]
  if (!codes || body === undefined) return codes !== undefined && status !== 503
  const code = /"code":"([a-z_]+)"/.exec(body)?.[1] ?? ''
  return codes.includes(code)
}

/** The operation of a path; one with fixed words goes before one with parameters. */
function operationOf(method: string, path: string) {
  const parts = path.replace(/\/$/, '').split('/')
  const name = method === 'HEAD' ? 'get' : method.toLowerCase()
  const fitting = Object.entries(theDocument().paths)
    .filter(([template, methods]) => name in methods && fits(template.split('/'), parts))
    .sort(([one], [other]) => parametersIn(one) - parametersIn(other))
  const [template, methods] = fitting[0] ?? []
  const operation = methods?.[name]
  return template === undefined || !operation ? null : { path: template, method: name, responses: operation.responses }
}

function fits(template: readonly string[], parts: readonly string[]): boolean {
  return template.length === parts.length && template.every((word, at) => word.startsWith('{') || word === parts[at])
}

function parametersIn(template: string): number {
  return template.split('{').length
}

function* headerComplaints(name: string, pointer: string, value: string | null): Generator<string> {
  if (value === null) {
    yield `there is no ${name}`
    return
  }
  const { type } = (valueAt(pointer) as Header).schema as { type?: string }
  const validate = validatorAt(`${pointer}/schema`)
  if (!validate(type === 'integer' ? Number(value) : value)) yield `${name} is ${value}`
}

function* bodyComplaints(pointer: string, body: string): Generator<string> {
  if (body.length > MAX_BODY_CHARACTERS) return
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    yield `the body is not JSON: ${body.slice(0, 200)}`
    return
  }
  const validate = validatorAt(pointer)
  if (validate(value)) return
  for (const { instancePath, message } of validate.errors ?? []) {
    yield `the body does not fit at ${instancePath || '/'}: ${message ?? ''} (${body.slice(0, 200)})`
  }
}

function validatorAt(pointer: string): ValidateFunction {
  const known = validators.get(pointer)
  if (known) return known
  const made = theAjv().compile({ $ref: `interface#${pointer.replaceAll('{', '%7B').replaceAll('}', '%7D')}` })
  validators.set(pointer, made)
  return made
}

function theAjv(): Ajv2020 {
  if (loaded.ajv) return loaded.ajv
  const ajv = new Ajv2020({ strict: false, validateFormats: true, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(theDocument(), 'interface')
  loaded.ajv = ajv
  return ajv
}

function theDocument(): Document {
  loaded.document ??= JSON.parse(readFileSync(DOCUMENT_PATH, 'utf8')) as Document
  return loaded.document
}

function valueAt(pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, part) => (value as Record<string, unknown>)[part], theDocument())
}

function escaped(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1')
}
