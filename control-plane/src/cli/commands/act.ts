import type { Argv, InferredOptionTypes, Options } from 'yargs'
import type { Client } from '@holdfast/client'
import type { ExitCode } from '../exit-codes.js'
import { writeAnswer } from '../show/answer.js'
import { type Terminal, writeLine } from '../terminal.js'
import { type ClientArgs, clientOf, clientOptions, type Run } from './common.js'

/** What a command is about, as a person names it: its number, or its id or name. */
export interface Target<Found> {
  /** The word for it in the command line, such as `runner` in `runner show <runner>`. */
  readonly position: string
  readonly describe: string
  /** Checks what was typed, before the service is asked. The function that it returns may ask. @throws UsageError */
  readonly find: (text: string) => (client: Client) => Found | Promise<Found>
}

/** A target that is known by a number, which `read` takes from what was typed. */
export function numbered(position: string, describe: string, read: (text: string) => number): Target<number> {
  return {
    position,
    describe,
    find: (text) => {
      const id = read(text)
      return () => id
    },
  }
}

/** A target that the service is asked for, by id or name. */
export function named<Found>(
  position: string,
  describe: string,
  ask: (client: Client, text: string) => Found | Promise<Found>,
): Target<Found> {
  return { position, describe, find: (text) => (client) => ask(client, text) }
}

type Names = Readonly<Record<string, string>>
type OptionTable = Readonly<Record<string, Options>>

/** `password-file` as the program gets it: `passwordFile`. */
type Camel<Text extends string> = Text extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Text

/** The arguments of a command, by the names of its positions and options. */
export type ArgsOf<Positions extends Names, Table extends OptionTable> = ClientArgs & {
  readonly [Name in keyof Positions]: string
} & { readonly [Name in keyof Table as Camel<Name & string>]: InferredOptionTypes<Table>[Name] }

/** What a command works with when it asks the service. */
export interface Asked<Args, Found, Given> {
  readonly args: Args
  readonly client: Client
  /** What it is about. */
  readonly on: Found
  /** What was made of the arguments before the service was asked. */
  readonly given: Given
  readonly terminal: Terminal
}

/** One command of a resource: its words, its options, one request and what is said about the answer. */
export interface Act<Positions extends Names, Table extends OptionTable, Found, Given, Answer> {
  readonly describe: string
  readonly on?: Target<Found>
  /** The words that come after the target, each with its description. */
  readonly positions?: Positions
  readonly options?: Table
  readonly examples?: readonly (readonly [command: string, describe: string])[]
  readonly epilogue?: string
  /** True: the command also runs when only the resource is named. */
  readonly isDefault?: boolean
  /** Reads the arguments, before the service is asked. @throws UsageError */
  readonly given?: (args: ArgsOf<Positions, Table>) => Given | Promise<Given>
  readonly ask: (asked: Asked<ArgsOf<Positions, Table>, Found, Given>) => Promise<Answer>
  /** What a person at a terminal is told before the answer. */
  readonly hint?: (answer: Answer) => string
  /** The answer as text for people, with the end of its last line. `--json` gives the answer itself. */
  readonly text: (answer: Answer, asked: Asked<ArgsOf<Positions, Table>, Found, Given>) => string
  /** Lines about the answer for stderr. Programs that take JSON do not get them. */
  readonly aside?: (answer: Answer) => readonly string[]
  readonly exitCode?: (answer: Answer) => ExitCode
}

/** Adds a command to the commands of a resource. Its name is its key there. */
export type Command = (yargs: Argv, run: Run, name: string) => Argv

/** Makes a command from its table. */
export function act<
  Answer,
  Found = undefined,
  Given = undefined,
  const Positions extends Names = Record<never, never>,
  const Table extends OptionTable = Record<never, never>,
>(table: Act<Positions, Table, Found, Given, Answer>): Command {
  const { on, positions = {}, options = {}, examples = [], epilogue } = table

  const withOptions = (yargs: Argv) => {
    const built = clientOptions(yargs).options(options)
    const places: Names = { ...(on && { [on.position]: on.describe }), ...positions }
    for (const [name, describe] of Object.entries(places)) {
      built.positional(name, { type: 'string', demandOption: true, describe })
    }
    for (const [command, describe] of examples) built.example(command, describe)
    return epilogue === undefined ? built : built.epilogue(epilogue)
  }

  return (yargs, run, name) => {
    const places = [...(on ? [on.position] : []), ...Object.keys(positions)].map((place) => ` <${place}>`)
    const words = `${name}${places.join('')}`
    return yargs.command({
      command: table.isDefault ? [words, '$0'] : words,
      describe: table.describe,
      builder: withOptions,
      // The library gives exactly what the table declares: withOptions made the parser from it.
      handler: (args) => answerTo(run, table, args as unknown as ArgsOf<Positions, Table>),
    })
  }
}

async function answerTo<Positions extends Names, Table extends OptionTable, Found, Given, Answer>(
  run: Run,
  table: Act<Positions, Table, Found, Given, Answer>,
  args: ArgsOf<Positions, Table>,
): Promise<void> {
  const { terminal } = run
  const { stdout, stderr } = terminal
  const { server, json }: ClientArgs = args
  const find = table.on?.find((args as Names)[table.on.position] ?? '')
  // A table without `given` or `on` has undefined as the type of what they give.
  const given = (await table.given?.(args)) as Given
  const client = await clientOf(run, { server })
  const on = (await find?.(client)) as Found
  const asked = { args, client, on, given, terminal }
  const answer = await table.ask(asked)
  if (table.hint && stdout.isTerminal && !json) await stderr.write(table.hint(answer))
  await writeAnswer(stdout, json, answer, () => table.text(answer, asked))
  if (!json) for (const line of table.aside?.(answer) ?? []) await writeLine(stderr, line)
  if (table.exitCode) run.exitCode = table.exitCode(answer)
}
