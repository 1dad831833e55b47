import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'

/**
 * Makes the check of a table's columns whose values are of a few words. The types of the queries say which words these are;
 * the check holds the database to it where rows are read, so that a word of another release stops here.
 * A row may have any of the columns.
 * @returns a function that gives the row back. @throws Error that names table and column
 */
export function rowParser(table: string, columns: Readonly<Record<string, TSchema>>) {
  const schema = Compile(Type.Partial(Type.Object(columns)))
  return <Row extends object>(row: Row): Row => {
    if (schema.Check(row)) return row
    const [problem] = schema.Errors(row)
    throw new Error(
      `the database holds a ${table} that is not readable: ${problem?.instancePath ?? ''} ${problem?.message ?? ''}`,
    )
  }
}
