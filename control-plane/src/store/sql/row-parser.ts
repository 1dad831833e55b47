import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'

/**
 * Makes the check of those columns of a table that allow only a few words. The types of the queries name these words.
 * The check compares them with the rows of the database, so that a word of another release causes an error here. A row
 * may have any of the columns.
 * @returns a function that returns the row, or throws an error that names table and column
 */
export function rowParser(table: string, columns: Readonly<Record<string, TSchema>>) {
  const make = () => Compile(Type.Partial(Type.Object(columns)))
  let made: ReturnType<typeof make> | null = null
  return <Row extends object>(row: Row): Row => {
    // Made for the first row: programs that read none of a table start without it.
    const schema = (made ??= make())
    if (schema.Check(row)) return row
    const [problem] = schema.Errors(row)
    throw new Error(
      `the database holds a ${table} that is not readable: ${problem?.instancePath ?? ''} ${problem?.message ?? ''}`,
    )
  }
}
