import type { Client } from '@holdfast/client'
import type { CommandModule } from 'yargs'
import { UsageError } from '../errors.js'
import { type Column, fieldsText, tableOr, tableText } from '../show/table.js'
import { localTime } from '../show/time.js'
import { act, type Command, type Target } from './act.js'
import { command, type Run } from './common.js'

/** The commands of a resource, by their names. The help lists them in this order. */
export type Commands = Readonly<Record<string, Command>>

/**
 * Makes `holdfast <resource> …` from a table of commands.
 * @param things what a person who names no command is asked about. Null: one of the commands runs then
 */
export function resource(things: string | null, commands: Commands): (run: Run) => CommandModule {
  const names = Object.keys(commands)
  const [last = '', ...others] = names.toReversed()
  const choice = others.length === 0 ? last : `${others.reverse().join(', ')} or ${last}`
  return (run) =>
    command({
      builder: (yargs) => {
        for (const [name, add] of Object.entries(commands)) add(yargs, run, name)
        return things === null ? yargs : yargs.demandCommand(1, `Say what to do with ${things}: ${choice}.`)
      },
      handler: () => undefined,
    })
}

/** A command that is written by hand, because it does more than one request and its answer. */
export function byHand<Args>(make: (run: Run) => CommandModule<object, Args>): Command {
  return (yargs, run) => yargs.command(make(run))
}

/** A command that lists all records of a kind and takes no options of its own. */
export const list = <Row, List extends { readonly records: readonly Row[] }>(table: {
  readonly describe: string
  readonly columns: readonly Column<Row>[]
  /** What is said in place of an empty table. Left out: there is always a row. */
  readonly none?: string
  readonly read: (client: Client) => Promise<List>
  readonly aside?: (list: List) => readonly string[]
}): Command => {
  const { describe, columns, none, read, aside } = table
  return act({
    describe,
    ask: ({ client }) => read(client),
    text: ({ records }, { terminal: { stdout } }) =>
      none === undefined ? tableText(stdout, columns, records) : tableOr(none, stdout, columns, records),
    ...(aside && { aside }),
  })
}

/** A command that shows everything about one thing. */
export const show = <Found, Thing extends object>(table: {
  readonly describe: string
  readonly on: Target<Found>
  readonly read: (client: Client, on: Found) => Promise<Thing>
}): Command =>
  act({
    describe: table.describe,
    on: table.on,
    ask: ({ client, on }) => table.read(client, on),
    text: (thing, { terminal: { stdout } }) => fieldsText(stdout, Object.entries(thing)),
  })

/** A command that says the sentence of the service about what it did to one thing. */
export const tell = <Found>(table: {
  readonly describe: string
  readonly on: Target<Found>
  readonly ask: (client: Client, on: Found) => Promise<{ readonly message: string }>
  /** Which one it was, in brackets behind the sentence. */
  readonly which?: (on: Found) => string
}): Command =>
  act({
    describe: table.describe,
    on: table.on,
    ask: ({ client, on }) => table.ask(client, on),
    text: ({ message }, { on }) => `${message}${table.which ? ` (${table.which(on)})` : ''}\n`,
  })

interface TokenAnswer {
  readonly token: string
  readonly expires_at: string
}

/** How a command shows a token that is shown only now. @param hint what to do with it before it expires */
export const shownOnce = (hint: (until: string) => string) => ({
  hint: (token: TokenAnswer) => `${hint(localTime(token.expires_at) ?? 'it expires')}:\n`,
  text: (token: TokenAnswer) => `${token.token}\n`,
})

/**
 * Reads a number that somebody typed.
 * @param what what the number is, for the error
 * @param where the command that shows the numbers, for the error
 * @throws UsageError
 */
export function numberOf(text: string, what: string, where: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new UsageError(`${text} is not ${what}; see holdfast ${where}.`)
}

/** The sentence about a change for which no option was given. */
export const sayWhatToChange = (words: string) =>
  new UsageError(`Say what to change: holdfast ${words} --help lists the options.`)
