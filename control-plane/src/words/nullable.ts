import { type Static, type TSchema, Type } from 'typebox'

/** A value or null. If possible, it is a list of types: for a union, the serialiser has to try every branch. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  const union = Type.Union([schema, Type.Null()])
  if (!('type' in schema) || typeof schema.type !== 'string') return union
  return Type.Unsafe<Static<typeof union>>({ ...schema, type: [schema.type, 'null'] })
}
