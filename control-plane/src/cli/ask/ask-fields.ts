import { type FormField, isShown } from '@holdfast/client'
import { ChosenFile, type Row, askRows } from './ask-rows.js'
import type { Judge, Place, Verdict } from './judge.js'
import { type Prompts, textOf } from './prompts.js'

/** What every question of one walk through a form needs. */
export interface Walk {
  readonly judge: Judge
  /** Fields of the rows of lists, by the name of their form. */
  readonly subforms: ReadonlyMap<string, readonly FormField[]>
  readonly prompts: Prompts
}

/**
 * Asks for the fields of a form, a step or a row, one after the other, as far as they are shown.
 * @param given values that are asked for only when they are refused
 */
export async function askFields(walk: Walk, place: Place, given: Readonly<Record<string, unknown>>): Promise<void> {
  const { prompts } = walk
  for (const field of place.fields) {
    const verdict = await verdictOf(walk, place, field)
    if (field.hidden || !(verdict?.shown ?? isShown(field, place.values))) {
      // A value from before, when the row was another one.
      if (place.kind === 'row') place.values[field.name] = undefined
    } else if (field.type === 'html') prompts.say(textOfHtml(field.content))
    else if (field.isComputed || isObjectOfExpression(field, verdict)) sayComputed(prompts, field, verdict)
    else if (!isFileGiven(walk, place, field)) await askField(walk, place, field, given)
  }
}

function sayComputed(prompts: Prompts, field: FormField, verdict: Verdict | null): void {
  if (verdict?.waiting !== undefined) prompts.warn(`${field.label}: ${verdict.waiting}`)
  else if (verdict?.value !== undefined && verdict.value !== null) {
    prompts.say(`${field.label}: ${textOf(verdict.value)}`)
  }
}

async function askField(
  walk: Walk,
  place: Place,
  field: FormField,
  given: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { judge, prompts } = walk
  let isGiven = Object.hasOwn(given, field.name)
  if (isGiven) place.values[field.name] = given[field.name]
  for (;;) {
    if (!isGiven) {
      const verdict = await verdictOf(walk, place, field)
      if (verdict?.waiting !== undefined) prompts.warn(`${field.label}: ${verdict.waiting}`)
      place.values[field.name] = await answerOf(walk, place, field, verdict)
    }
    isGiven = false
    const errors = await judge.errors(place, field)
    if (errors.length === 0) return
    for (const error of errors) prompts.warn(`${field.label}: ${error}`)
  }
}

async function answerOf(walk: Walk, place: Place, field: FormField, verdict: Verdict | null): Promise<unknown> {
  const { judge, prompts } = walk
  const before = place.values[field.name]
  const initial = before ?? verdict?.value ?? field.default
  if (field.type === 'list') return rowsOf(walk, place, field, initial)
  if (field.type === 'file') {
    const path = await prompts.file(field)
    if (place.kind === 'row') return path === undefined ? undefined : new ChosenFile(path)
    if (path === undefined) judge.files.delete(fileKeyOf(place, field))
    else judge.files.set(fileKeyOf(place, field), path)
    return undefined
  }
  const choices = verdict?.choices?.map((choice) => field.choiceOf(choice)) ?? field.choices
  const answer = await prompts.value(field, choices, initial)
  // A password is not shown, so nobody can see what they would take away.
  if (answer === undefined && field.type === 'password') return before
  // What was not changed stays computed: it follows what it hangs on, and keeps its type.
  if (field.type === 'expression' && initial !== undefined && answer === textOf(initial)) return undefined
  // A field that is not sent gets its default. Null says that the person wants none.
  return answer === undefined && initial !== undefined && initial !== null ? null : answer
}

/** Whether a file was given for this field. The name of the step may be left out. */
function isFileGiven({ judge: { files } }: Walk, place: Place, field: FormField): boolean {
  return (
    field.type === 'file' && place.kind !== 'row' && [fileKeyOf(place, field), field.name].some((key) => files.has(key))
  )
}

function fileKeyOf({ path }: Place, { name }: FormField): string {
  return [...path, name].join('.')
}

/** The rows are among the answers while they are filled in. So the control plane computes and checks their fields, too. */
async function rowsOf(walk: Walk, place: Place, list: FormField, initial: unknown): Promise<Row[]> {
  const rows: Row[] = Array.isArray(initial) ? initial.map((row: Row) => ({ ...row })) : []
  place.values[list.name] = rows
  const fields = list.subform === null ? [] : (walk.subforms.get(list.subform) ?? [])
  await askRows(walk.prompts, list, fields, rows, (at) =>
    askFields(walk, { path: [...place.path, list.name, at], kind: 'row', fields, values: rows[at] ?? {} }, {}),
  )
  return rows
}

async function verdictOf({ judge, prompts }: Walk, place: Place, field: FormField): Promise<Verdict | null> {
  return judge.verdict(place, field, () => prompts.say(`${field.label}: its source is slow to answer.`))
}

/** What may be typed over is a line of text. An object is none. */
function isObjectOfExpression({ type }: FormField, verdict: Verdict | null): boolean {
  return type === 'expression' && typeof (verdict?.value ?? '') === 'object'
}

function textOfHtml(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
