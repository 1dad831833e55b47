import type { Client } from '@holdfast/client'
import { writeAnswer } from '../show/answer.js'
import { type Column, tableOr } from '../show/table.js'
import { clientOf, clientOptions, command, type Run } from './common.js'

/** A command that shows all records of a kind and takes no options of its own. */
export const listCommandOf = <Row, List extends { readonly records: readonly Row[] }>(
  run: Run,
  list: {
    readonly command: string
    readonly describe: string
    readonly columns: readonly Column<Row>[]
    /** What is said in place of an empty table. */
    readonly none: string
    readonly read: (client: Client) => Promise<List>
  },
) =>
  command({
    command: list.command,
    describe: list.describe,
    builder: (yargs) => clientOptions(yargs),
    handler: async (args) => {
      const { stdout } = run.terminal
      const answer = await list.read(await clientOf(run, args))
      await writeAnswer(stdout, args.json, answer, () => tableOr(list.none, stdout, list.columns, answer.records))
    },
  })
