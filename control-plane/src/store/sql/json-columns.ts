import * as v from 'valibot'

const textsSchema = v.array(v.string())
const objectSchema = v.record(v.string(), v.unknown())

/** Reads a column that has a list of texts as JSON. @throws Error when it has something else */
export function textsOfColumn(json: string): string[] {
  return v.parse(textsSchema, JSON.parse(json))
}

/** Reads a column that has an object as JSON. @throws Error when it has something else */
export function objectOfColumn(json: string): Record<string, unknown> {
  return v.parse(objectSchema, JSON.parse(json))
}
