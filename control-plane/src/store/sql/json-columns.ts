import * as v from 'valibot'

const textsSchema = v.array(v.string())
const objectSchema = v.record(v.string(), v.unknown())

/** A column that holds a list of texts as JSON. @throws Error when it holds something else */
export function textsOfColumn(json: string): string[] {
  return v.parse(textsSchema, JSON.parse(json))
}

/** A column that holds an object as JSON. @throws Error when it holds something else */
export function objectOfColumn(json: string): Record<string, unknown> {
  return v.parse(objectSchema, JSON.parse(json))
}
