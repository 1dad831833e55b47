import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { DatabaseProblem } from './problem.js'

const Named = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 2000 }),
  type: Type.Optional(Type.Union([Type.String(), Type.Null()])),
})
const Name = Type.String({ minLength: 1, maxLength: 2000 })
const dbConfig = Compile(
  Type.Union([Name, Named, Type.Array(Type.Union([Name, Named]), { minItems: 1, maxItems: 20 })]),
)

/** A database that a form names, and its kind when the form says it. */
export interface NamedDatabase {
  readonly name: string
  readonly type: string | null
}

/**
 * Reads `dbConfig` of a form: a name, several names with commas between them, name and type, or a list of these.
 * @throws DatabaseProblem
 */
export function namedDatabases(config: unknown): NamedDatabase[] {
  if (!dbConfig.Check(config)) throw new DatabaseProblem('dbConfig must be the name of a credential, or name and type')
  const entries = Array.isArray(config) ? config : [config]
  const named = entries.flatMap((entry) => {
    const { name, type } = typeof entry === 'string' ? { name: entry, type: null } : entry
    return name.split(',').map((one) => ({ name: one.trim(), type: type ?? null }))
  })
  if (named.some(({ name }) => name === '')) throw new DatabaseProblem('dbConfig has an empty name')
  return named
}
