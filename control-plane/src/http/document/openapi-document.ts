type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
type JsonObject = { [key: string]: Json }

/** What each error status means, and the headers that come with it. */
const REFUSALS: Readonly<Record<string, { readonly name: string; readonly text: string; readonly header?: string }>> = {
  400: { name: 'Malformed', text: 'The request is malformed: a wrong type, a missing field, an id that is no number' },
  401: {
    name: 'Unauthenticated',
    text: 'The token is missing, wrong or expired; or the credentials of a sign-in are wrong',
    header: 'WWW-Authenticate',
  },
  403: { name: 'NotAllowed', text: 'The roles of the caller do not allow it' },
  404: { name: 'NotFound', text: 'There is no such thing, or none that the caller may know of' },
  409: { name: 'WrongState', text: 'The state of the thing does not allow it' },
  413: { name: 'TooLarge', text: 'More bytes than the service takes' },
  415: { name: 'WrongMediaType', text: 'The body is of another kind than the one that is needed' },
  416: { name: 'UnsatisfiableRange', text: 'The range begins behind the end' },
  422: { name: 'RefusedValues', text: 'The values of the form were refused; details names the fields' },
  429: { name: 'TooMany', text: 'Too many requests, or too many failed sign-ins', header: 'Retry-After' },
  500: { name: 'Failed', text: 'A failure of the service itself; its log has the request under X-Request-Id' },
  503: {
    name: 'Unavailable',
    text: 'The service cannot answer now (it stops, its database is away); nothing was changed',
  },
}

const HEADERS: JsonObject = {
  'X-Request-Id': {
    description: 'The id of the request in the log of the control plane: the one that the client sent, if it is usable',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,64}$' },
  },
  'WWW-Authenticate': { required: true, schema: { type: 'string', const: 'Bearer' } },
  'Retry-After': { description: 'Seconds', required: true, schema: { type: 'integer', minimum: 1 } },
}

const ERROR_REFERENCE = '#/components/schemas/Error'

/**
 * Completes the document of the collected routes. Every schema with a title is there once, under its title. Every error
 * answer is there once, under its name. Every answer has its headers.
 * @throws Error when two different schemas have one title, or two operations one name
 */
export function completeDocument(collected: unknown): JsonObject {
  const document = JSON.parse(JSON.stringify(collected)) as JsonObject
  const schemas: JsonObject = {}
  const paths = namedSchemas(document.paths ?? {}, schemas) as JsonObject
  const responses: JsonObject = {}
  const names = new Set<string>()
  for (const operation of operationsOf(paths)) {
    const name = String(operation.operationId)
    if (names.has(name)) throw new Error(`Two operations of the interface are named ${name}`)
    names.add(name)
    operation.responses = namedRefusals(operation.responses as JsonObject, responses)
  }
  const { securitySchemes = {} } = document.components as JsonObject
  return {
    ...document,
    paths,
    components: { securitySchemes, schemas: sorted(schemas), responses: sorted(responses), headers: HEADERS },
  }
}

function* operationsOf(paths: JsonObject): Generator<JsonObject> {
  for (const methods of Object.values(paths)) yield* Object.values(methods as JsonObject) as JsonObject[]
}

/** The node, with a reference in place of every schema that has a title. */
function namedSchemas(node: Json, schemas: JsonObject): Json {
  if (Array.isArray(node)) return node.map((item) => namedSchemas(item, schemas))
  if (node === null || typeof node !== 'object') return node
  const inside = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, namedSchemas(value, schemas)]))
  const { title, ...schema } = inside
  if (typeof title !== 'string') return inside
  const known = schemas[title]
  if (known && JSON.stringify(known) !== JSON.stringify(schema)) {
    throw new Error(`Two different schemas of the interface have the title ${title}`)
  }
  schemas[title] = schema
  return { $ref: `#/components/schemas/${title}` }
}

function namedRefusals(given: JsonObject, responses: JsonObject): JsonObject {
  const shown = Object.entries(given).map(([status, value]): [string, Json] => {
    const response = value as JsonObject
    const refusal = REFUSALS[status]
    if (!refusal || !JSON.stringify(response.content ?? {}).includes(ERROR_REFERENCE)) {
      const headers = { ...headerReferences('X-Request-Id'), ...(response.headers as JsonObject | undefined) }
      const description = response.description === 'Default Response' ? 'Done' : (response.description ?? 'Done')
      return [status, { ...response, description, headers }]
    }
    const { name, text, header } = refusal
    responses[name] = {
      description: text,
      headers: headerReferences('X-Request-Id', ...(header ? [header] : [])),
      content: response.content ?? {},
    }
    return [status, { $ref: `#/components/responses/${name}` }]
  })
  return Object.fromEntries(shown)
}

function headerReferences(...names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function sorted(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1)))
}
