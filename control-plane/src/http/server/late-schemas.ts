import ajvCompilers, { type Options } from '@fastify/ajv-compiler'
import serializerCompilers from '@fastify/fast-json-stringify-compiler'
import type { FastifyInstance } from 'fastify'
import type { FastifyValidationResult } from 'fastify/types/schema.js'

/** Name of the decorator that compiles all schemas that were not needed yet, and checks them: `() => void`. */
export const COMPILE_SCHEMAS = 'compileSchemas'

/**
 * Fastify compiles the schemas of a route: its checks, and the functions that write its answers. This delays that until
 * the first use of the route, because it would take half of the time of a start, and most routes are not used soon.
 * Schemas of headers must have names in lower case, because Fastify changes them only for its own compilers.
 */
export function compileSchemasLate(app: FastifyInstance, options: Options): void {
  const waiting = new Set<() => unknown>()
  /** Returns the result of `make`, which is called once. */
  function late<T>(make: () => T): () => T {
    let made: { readonly value: T } | null = null
    const get = () => {
      made ??= { value: make() }
      waiting.delete(get)
      return made.value
    }
    waiting.add(get)
    return get
  }

  const routes: object[] = []
  // Tests check that the schemas are valid. Here this check would take longer than all other work of the first request.
  const validators = late(() => ajvCompilers()({}, { customOptions: { ...options, validateSchema: false } }))
  const serializers = late(() => serializerCompilers()())
  app.setValidatorCompiler((route: object) => {
    routes.push(route)
    const validator = late(() => validators()(route))
    const check: FastifyValidationResult = (data) => {
      const validate = validator()
      // Only schemas with `$async` return a promise, and there are none.
      const isValid = validate(data) === true
      check.errors = validate.errors
      return isValid
    }
    return check
  })
  app.setSerializerCompiler((route) => {
    const serializer = late(() => serializers()({ ...route, httpStatus: route.httpStatus ?? 'default' }))
    return (data) => serializer()(data)
  })
  app.decorate(COMPILE_SCHEMAS, () => {
    for (const compile of waiting) compile()
    const checked = ajvCompilers()({}, { customOptions: options })
    for (const route of routes) checked(route)
  })
}
