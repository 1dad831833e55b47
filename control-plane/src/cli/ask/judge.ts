import type { Client, FormEvaluation, FormField, FormModel } from '@holdfast/client'
import { setTimeout as pause } from 'node:timers/promises'
import { RefusedError } from '../errors.js'

/** What the control plane says of one field. */
export type Verdict = FormEvaluation['fields'][string]

/** Where fields are: in the form itself, in a step of a wizard, or in a row of a list. */
export interface Place {
  /** The names and indexes that lead to the fields: none for the form itself, `['disks', 0]` for a row. */
  readonly path: readonly (string | number)[]
  readonly kind: 'form' | 'step' | 'row'
  readonly fields: readonly FormField[]
  /** The answers up to now. They are a part of the values of the whole form. */
  readonly values: Record<string, unknown>
}

/** When the control plane refuses to check the values because it was asked too often: the pause in milliseconds. */
const AGAIN_MS = 1_000
/** How often it is asked again then. */
const TRIES = 10
/** How long the control plane may wait for a slow source each time, in seconds. */
const WAIT_SECONDS = 10
/** How often a person waits so long for the source of one field. */
const MAX_WAITS = 6

/** Has the control plane check the answers of one walk through a form. */
export class Judge {
  readonly #client: Pick<Client, 'evaluateForm'>
  readonly #form: FormModel
  /** The answers. In a wizard: by step, then by field. */
  readonly values: Record<string, unknown> = {}
  /** The paths of files by the keys of their fields: `field`, `step.field`. A row has its files itself. */
  readonly files: Map<string, string>

  /** @param paths files that were given, by the keys of their fields */
  constructor(client: Pick<Client, 'evaluateForm'>, form: FormModel, paths: ReadonlyMap<string, string>) {
    this.#client = client
    this.#form = form
    this.files = new Map(paths)
  }

  /** Whether a step of the wizard is shown. */
  async isStepShown(step: string): Promise<boolean> {
    const { steps } = await this.#evaluate(null)
    return steps[step]?.shown !== false
  }

  /**
   * What the control plane says of a field. It waits for the source of the field, if that is slow.
   * @param waits called when it is
   * @returns null: it says nothing of this field
   */
  async verdict(place: Place, field: FormField, waits: () => void): Promise<Verdict | null> {
    let verdict = verdictIn(await this.#evaluate(place), place, field)
    if (verdict?.asking === true) waits()
    for (let left = MAX_WAITS; verdict?.asking === true && left > 0; left -= 1) {
      verdict = verdictIn(await this.#evaluate(place, WAIT_SECONDS), place, field)
    }
    return verdict
  }

  /** What is wrong with the value of a field. A file is not checked here, but at the launch, when it was uploaded. */
  async errors(place: Place, field: FormField): Promise<string[]> {
    if (field.type === 'file') return []
    const evaluation = await this.#evaluate(place)
    const own = verdictIn(evaluation, place, field)?.errors.map(({ description }) => description) ?? []
    return [
      ...own,
      ...rowErrorsOf(evaluation, place, field).flatMap((row) => rowTexts(row, field, this.#form.subforms)),
    ]
  }

  /** Files are uploaded later. The control plane only hears that there is a file. */
  async #evaluate(place: Place | null, wait?: number): Promise<FormEvaluation> {
    const files = Object.fromEntries([...this.files].map(([name, path]) => [name, { path }]))
    const body = {
      rawFormData: this.values,
      files,
      showRows: place?.kind === 'row' ? [[...place.path]] : undefined,
      wait,
    }
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

function verdictIn(evaluation: FormEvaluation, { kind, path }: Place, { name }: FormField): Verdict | null {
  switch (kind) {
    case 'form':
      return evaluation.fields[name] ?? null
    case 'step':
      return evaluation.steps[String(path[0])]?.fields[name] ?? null
    case 'row':
      return evaluation.shownRows?.[0]?.fields[name] ?? null
  }
}

/** What is wrong with a row, as a refused launch says it. Rows inside of it have their own. */
interface RowError {
  /** None: the object of a yaml field. */
  readonly index?: number
  readonly validationErrors?: Readonly<Record<string, readonly { readonly description: string }[]>>
  readonly rowErrors?: Readonly<Record<string, readonly RowError[]>>
}

/** What is wrong with the rows of a list, which may itself be in a row. */
function rowErrorsOf({ rows, steps }: FormEvaluation, { path }: Place, { name }: FormField): readonly RowError[] {
  // The step is a part of the names of its lists.
  const [first = name, ...rest] = [...path, name].map(String)
  const inStep = Object.hasOwn(steps, first)
  let found = (rows[inStep ? `${first}.${rest[0]}` : first] ?? []) as readonly RowError[]
  for (let left = inStep ? rest.slice(1) : rest; left.length > 0; left = left.slice(2)) {
    const [index, list = ''] = left
    found = found.find((row) => String(row.index) === index)?.rowErrors?.[list] ?? []
  }
  return found
}

function rowTexts(
  { index, validationErrors = {}, rowErrors = {} }: RowError,
  { subform }: Pick<FormField, 'subform'>,
  subforms: FormModel['subforms'],
): string[] {
  const fields = subforms.get(subform ?? '') ?? []
  const files = new Set(fields.filter(({ type }) => type === 'file').map(({ name }) => name))
  const own = Object.entries(validationErrors)
    .filter(([name]) => !files.has(name))
    .flatMap(([, errors]) => errors.map(({ description }) => description))
  const below = Object.entries(rowErrors).flatMap(([name, rows]) => {
    const list = fields.find((field) => field.name === name) ?? { subform: null }
    return rows.flatMap((row) => rowTexts(row, list, subforms).map((text) => `${name}: ${text}`))
  })
  return [...own, ...below].map((text) => (index === undefined ? text : `row ${index + 1}: ${text}`))
}
