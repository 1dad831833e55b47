import type { Client, FormEvaluation, FormField, FormModel, FormPart } from '@holdfast/client'
import { setTimeout as pause } from 'node:timers/promises'
import { RefusedError } from '../errors.js'
import { askRows } from './ask-rows.js'
import type { Prompts } from './prompts.js'

type Values = Readonly<Record<string, unknown>>
type Verdict = FormEvaluation['fields'][string]

/** What a person answered. */
export interface Answers {
  /** The values by field. In a wizard: by step, then by field. */
  readonly values: Record<string, unknown>
  /** The paths of files by file field. */
  readonly files: ReadonlyMap<string, string>
}

/** When the control plane refuses to check the values because it was asked too often: the pause in milliseconds. */
const AGAIN_MS = 1_000
/** How often it is asked again then. */
const TRIES = 10

/**
 * Walks through a form at a terminal. It asks for each field that is shown, and prints the values that the control plane
 * computes. The control plane checks each answer. A field with a given value is asked for only when that value is refused.
 * @param given values by field; in a wizard by step, then by field
 */
export async function askForm(
  client: Pick<Client, 'evaluateForm'>,
  form: FormModel,
  given: Values,
  prompts: Prompts,
): Promise<Answers> {
  return new Walk(client, form, prompts, given).all()
}

/** One walk through one form. */
class Walk {
  readonly #client: Pick<Client, 'evaluateForm'>
  readonly #form: FormModel
  readonly #prompts: Prompts
  readonly #given: Values
  readonly #values: Record<string, unknown> = {}
  readonly #files = new Map<string, string>()

  constructor(client: Pick<Client, 'evaluateForm'>, form: FormModel, prompts: Prompts, given: Values) {
    this.#client = client
    this.#form = form
    this.#prompts = prompts
    this.#given = given
  }

  async all(): Promise<Answers> {
    for (const part of this.#form.parts) {
      if (part.step === null) await this.#askPart(part, this.#values, this.#given)
      else await this.#askStep(part, part.step)
    }
    return { values: this.#values, files: this.#files }
  }

  async #askStep(part: FormPart, step: string): Promise<void> {
    const given = objectOf(this.#given[step])
    const { steps } = await this.#judge()
    if (steps[step]?.shown === false) return
    if (part.isOptional && Object.keys(given).length === 0) {
      if (!(await this.#prompts.confirm(`Fill in the step "${step}"?`, false))) return
    }
    this.#prompts.say(`Step: ${step}`)
    const values = (this.#values[step] = {})
    await this.#askPart(part, values, given)
  }

  async #askPart(part: FormPart, values: Record<string, unknown>, given: Values): Promise<void> {
    for (const field of part.fields) {
      const verdict = await this.#verdictOf(part, field)
      if (field.hidden || verdict?.shown === false) continue
      if (field.type === 'html') this.#prompts.say(textOfHtml(field.content))
      else if (field.isComputed || isObjectOfExpression(field, verdict)) this.#sayComputed(field, verdict)
      else await this.#askField(part, field, values, given)
    }
  }

  #sayComputed(field: FormField, verdict: Verdict | null): void {
    if (verdict?.waiting !== undefined) this.#prompts.warn(`${field.label}: ${verdict.waiting}`)
    else if (verdict?.value !== undefined && verdict.value !== null) {
      this.#prompts.say(`${field.label}: ${valueText(verdict.value)}`)
    }
  }

  async #askField(part: FormPart, field: FormField, values: Record<string, unknown>, given: Values): Promise<void> {
    let isGiven = field.name in given
    if (isGiven) values[field.name] = given[field.name]
    for (;;) {
      if (!isGiven) {
        const verdict = await this.#verdictOf(part, field)
        if (verdict?.waiting !== undefined) this.#prompts.warn(`${field.label}: ${verdict.waiting}`)
        const answer = await this.#answerOf(field, verdict, values[field.name])
        values[field.name] = answer
      }
      isGiven = false
      const after = await this.#judge()
      const errors = errorsOf(after, part, field)
      if (errors.length === 0) return
      for (const error of errors) this.#prompts.warn(`${field.label}: ${error}`)
    }
  }

  async #answerOf(field: FormField, verdict: Verdict | null, before: unknown): Promise<unknown> {
    const initial = before ?? verdict?.value ?? field.default
    if (field.type === 'list') return askRows(field, this.#form.subforms, initial, this.#prompts)
    if (field.type === 'file') {
      const path = await this.#prompts.file(field)
      if (path === undefined) this.#files.delete(field.name)
      else this.#files.set(field.name, path)
      return undefined
    }
    const choices = verdict?.choices?.map((choice) => field.choiceOf(choice)) ?? field.choices
    const answer = await this.#prompts.value(field, choices, initial)
    // What was not changed stays computed: it follows what it hangs on, and keeps its type.
    return field.type === 'expression' && answer === valueText(initial) ? undefined : answer
  }

  async #verdictOf(part: FormPart, field: FormField): Promise<Verdict | null> {
    return verdictIn(await this.#judge(), part, field)
  }

  /** Has the control plane check the answers up to now. Files are uploaded later, so it only hears that there is a file. */
  async #judge(): Promise<FormEvaluation> {
    const files = Object.fromEntries([...this.#files].map(([name, path]) => [name, { path }]))
    const body = { rawFormData: this.#values, files }
    for (let left = TRIES; ; left -= 1) {
      try {
        return await this.#client.evaluateForm({ name: this.#form.name, body })
      } catch (error) {
        if (!(error instanceof RefusedError) || error.status !== 429 || left === 0) throw error
        await pause(AGAIN_MS)
      }
    }
  }
}

/** What may be typed over is a line of text. An object is none. */
function isObjectOfExpression({ type }: FormField, verdict: Verdict | null): boolean {
  return type === 'expression' && typeof (verdict?.value ?? '') === 'object'
}

function verdictIn(evaluation: FormEvaluation, { step }: FormPart, { name }: FormField): Verdict | null {
  const fields = step === null ? evaluation.fields : evaluation.steps[step]?.fields
  return fields?.[name] ?? null
}

/** What is wrong with the value of a field. A file is not checked here, but at the launch, when it was uploaded. */
function errorsOf(evaluation: FormEvaluation, part: FormPart, field: FormField): string[] {
  if (field.type === 'file') return []
  const own = verdictIn(evaluation, part, field)?.errors.map(({ description }) => description) ?? []
  const key = part.step === null ? field.name : `${part.step}.${field.name}`
  const rows = (evaluation.rows[key] ?? []).flatMap((row) => rowTexts(row as RowError))
  return [...own, ...rows]
}

/** What is wrong with a row, as a refused launch says it. Rows inside of it have their own. */
interface RowError {
  /** None: the object of a yaml field. */
  readonly index?: number
  readonly validationErrors?: Readonly<Record<string, readonly { readonly description: string }[]>>
  readonly rowErrors?: Readonly<Record<string, readonly RowError[]>>
}

function rowTexts({ index, validationErrors = {}, rowErrors = {} }: RowError): string[] {
  const own = Object.values(validationErrors).flatMap((errors) => errors.map(({ description }) => description))
  const below = Object.entries(rowErrors).flatMap(([name, rows]) =>
    rows.flatMap((row) => rowTexts(row).map((text) => `${name}: ${text}`)),
  )
  return [...own, ...below].map((text) => (index === undefined ? text : `row ${index + 1}: ${text}`))
}

/** A value for people, in one line. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function textOfHtml(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function objectOf(value: unknown): Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {}
}
