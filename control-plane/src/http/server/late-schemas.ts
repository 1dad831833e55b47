import ajvCompilers, { type Options } from '@fastify/ajv-compiler'
import serializerCompilers from '@fastify/fast-json-stringify-compiler'
import type { FastifyInstance } from 'fastify'
import type { FastifyValidationResult } from 'fastify/types/schema.js'

/** Name of the decorator that compiles every schema that was not needed yet, and checks that it is one: `() => void`. */
export const COMPILE_SCHEMAS = 'compileSchemas'

/**
 * Puts off what Fastify compiles of the schemas of a route (its checks, and the writers of its answers) until the route is
 * used first: a start would spend half of its time on them, and most are not asked for soon. Schemas of headers must name
 * them in lower case; Fastify sees to that with its own compilers only.
 */
export function compileSchemasLate(app: FastifyInstance, options: Options): void {
  const waiting = new Set<() => unknown>()
  /** Gives what `make` makes, which is made once. */
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
  // Whether schemas are schemas is a matter of tests: it would take the first request longer than everything else of it.
  const validators = late(() => ajvCompilers()({}, { customOptions: { ...options, validateSchema: false } }))
  const serializers = late(() => serializerCompilers()())
  app.setValidatorCompiler((route: object) => {
    routes.push(route)
    const validator = late(() => validators()(route))
    const check: FastifyValidationResult = (data) => {
      const validate = validator()
      // A promise is what only schemas marked `$async` give, and none is.
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
