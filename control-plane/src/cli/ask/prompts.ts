import * as clack from '@clack/prompts'
import type { Choice, FormField } from '@holdfast/client'
import type { Readable, Writable } from 'node:stream'
import { CliError } from '../errors.js'
import { EXIT } from '../exit-codes.js'
import { printable } from '../show/printable.js'
import { whyNoFile } from '../uploads.js'

/** Where questions are shown and answered. */
export interface Screen {
  readonly input: Readable
  readonly output: Writable
}

/** How many choices of a list are shown at once. */
const SHOWN_CHOICES = 8
/** A list with so many choices or more has a text field that filters them. */
const MANY_CHOICES = 6

const SHAPES: Readonly<Record<string, string>> = {
  datetime: 'YYYY-MM-DDTHH:MM',
  time: 'HH:MM',
  month: 'YYYY-MM',
  week: 'YYYY-Www',
  year: 'YYYY',
}

/** The questions of one walk through a form. Each throws CliError `interrupted` when the person gives up. */
export class Prompts {
  readonly #screen: Screen

  constructor(screen: Screen) {
    this.#screen = screen
  }

  title(text: string): void {
    clack.intro(printable(text), this.#screen)
  }

  say(text: string): void {
    clack.log.info(printable(text), this.#screen)
  }

  warn(text: string): void {
    clack.log.warn(printable(text), this.#screen)
  }

  note(lines: readonly string[], title: string): void {
    clack.note(lines.map(printable).join('\n'), printable(title), this.#screen)
  }

  async confirm(message: string, initialValue: boolean): Promise<boolean> {
    return answered(await clack.confirm({ ...this.#screen, message: printable(message), initialValue }))
  }

  /** Asks for one of some options. @returns its index */
  async choose(message: string, options: readonly string[], initial: number | null = null): Promise<number> {
    const many = options.length >= MANY_CHOICES
    const asked = {
      ...this.#screen,
      message: printable(message),
      options: options.map((label, value) => ({ value, label: printable(label) })),
      ...(initial === null ? {} : { initialValue: initial }),
      maxItems: SHOWN_CHOICES,
    }
    return answered(
      await (many ? clack.autocomplete({ ...asked, placeholder: 'type to filter' }) : clack.select(asked)),
    )
  }

  /**
   * Asks for the value of a field.
   * @param choices what may be chosen; null: anything may be typed
   * @param initial the value that the question begins with; undefined: none
   * @returns the value; undefined when it was left empty
   */
  async value(field: FormField, choices: readonly Choice[] | null, initial: unknown): Promise<unknown> {
    const message = messageOf(field)
    switch (field.type) {
      case 'checkbox':
        return this.confirm(message, initial === true)
      case 'password': {
        const typed = answered(await clack.password({ ...this.#screen, message }))
        return typed === '' ? undefined : typed
      }
      case 'textarea':
      case 'yaml':
        return this.#text(message, field, initial, true)
      case 'number':
        return this.#number(message, field, initial)
      case 'datetime':
        return field.dateType === 'date'
          ? this.#date(message, field, initial)
          : this.#text(message, { placeholder: SHAPES[field.dateType] ?? null }, initial, false)
      default:
        if (choices === null) return this.#text(message, field, initial, false)
        return field.multiple ? this.#several(message, choices, initial) : this.#one(message, field, choices, initial)
    }
  }

  /** Asks for the path of a file that exists. @returns the path; undefined when it was left empty */
  async file(field: FormField): Promise<string | undefined> {
    // The question for a path takes no empty answer.
    if (!field.required && !(await this.confirm(`${messageOf(field)}: send a file?`, false))) return undefined
    for (;;) {
      const path = answered(await clack.path({ ...this.#screen, message: messageOf(field) }))
      const problem = await whyNoFile(path)
      if (problem === null) return path
      this.warn(`${path}: ${problem}.`)
    }
  }

  async #text(
    message: string,
    { placeholder }: Pick<FormField, 'placeholder'>,
    initial: unknown,
    isLong: boolean,
  ): Promise<string | undefined> {
    const asked = {
      ...this.#screen,
      message,
      ...(placeholder === null ? {} : { placeholder: printable(placeholder) }),
      ...(initial === undefined || initial === null ? {} : { initialValue: textOf(initial) }),
    }
    // For an empty answer the library may give undefined.
    const typed = answered(await (isLong ? clack.multiline(asked) : clack.text(asked))) as string | undefined
    return typed === '' ? undefined : typed
  }

  async #number(message: string, field: FormField, initial: unknown): Promise<unknown> {
    for (let before = initial; ;) {
      const typed = await this.#text(message, field, before, false)
      if (typed === undefined) return undefined
      const number = Number(typed)
      if (Number.isFinite(number) && typed.trim() !== '') return number
      before = typed
      this.warn('That is not a number.')
    }
  }

  async #date(message: string, field: FormField, initial: unknown): Promise<string | undefined> {
    const known = typeof initial === 'string' && !Number.isNaN(Date.parse(initial)) ? new Date(initial) : undefined
    const asked = { ...this.#screen, message, format: 'YMD', ...(known ? { initialValue: known } : {}) } as const
    for (;;) {
      if (field.required) return dayOf(answered(await clack.date(asked)))
      // With a check of its own the library takes an empty answer.
      const date = answered(await clack.date({ ...asked, validate: () => undefined })) as Date | undefined
      if (date !== undefined) return dayOf(date)
      // A date of which only a part was typed is empty for the library, too.
      if (await this.confirm(`${field.label}: leave it empty?`, true)) return undefined
    }
  }

  async #one(message: string, field: FormField, choices: readonly Choice[], initial: unknown): Promise<unknown> {
    if (choices.length === 0) {
      this.say(`${field.label}: there is nothing to choose from.`)
      // Without this question a required field would be asked for without end.
      if (field.required && !(await this.confirm('Look again?', true))) throw givenUp()
      return undefined
    }
    const labels = choices.map(({ label }) => label)
    const at = choices.findIndex(({ value }) => isSame(value, initial))
    const none = field.required ? [] : ['(nothing)']
    const chosen = await this.choose(message, [...labels, ...none], at === -1 ? null : at)
    return choices[chosen]?.value
  }

  async #several(message: string, choices: readonly Choice[], initial: unknown): Promise<unknown> {
    const before: readonly unknown[] = Array.isArray(initial) ? initial : []
    const isAll = before.includes('__all__')
    const chosen = answered(
      await clack.autocompleteMultiselect({
        ...this.#screen,
        message,
        options: choices.map(({ label }, value) => ({ value, label: printable(label) })),
        initialValues: [...choices.keys()].filter(
          (index) => isAll || before.some((one) => isSame(one, choices[index]?.value)),
        ),
        maxItems: SHOWN_CHOICES,
        placeholder: 'type to filter, Tab to choose',
      }),
    )
    return chosen.map((index) => choices[index]?.value)
  }
}

function messageOf({ label, required, help }: FormField): string {
  return printable(`${label}${required ? ' *' : ''}${help === null ? '' : ` (${help})`}`)
}

/** A value for people, in one line. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

function answered<Answer>(answer: Answer): Exclude<Answer, symbol> {
  if (typeof answer !== 'symbol') return answer as Exclude<Answer, symbol>
  throw givenUp()
}

const givenUp = () => new CliError(EXIT.interrupted, 'Nothing was launched.')

const dayOf = (date: Date): string => date.toISOString().slice(0, 10)
