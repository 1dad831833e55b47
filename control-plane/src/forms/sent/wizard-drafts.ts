import type { WizardStep } from '../fields/field.js'
import { type PlainObject, isPlainObject } from '../values/plain.js'

type Wizard = { readonly wizard: readonly WizardStep[] }

/** The keys that pages of the product family send in addition to the values of the steps. */
const OF_PAGES = new Set(['__wizard__', 'drafts', 'skipped', 'completed'])

/**
 * Whether field values are those of a wizard in the shape of the product family's pages:
 * `{__wizard__: true, drafts: {<step>: {<field>: value}}, skipped: {<step>: true}}`.
 */
function areDrafts({ wizard }: Wizard, sent: PlainObject): boolean {
  return wizard.length > 0 && sent.__wizard__ === true && isPlainObject(sent.drafts)
}

/**
 * The same values in the shape of this service: `{<step>: {<field>: value}}`. Other values are returned unchanged.
 * @param skipped whether steps count that the page marks as skipped. A step that is not optional always counts
 */
export function withoutDrafts(
  form: Wizard,
  sent: PlainObject,
  skipped: 'with skipped' | 'without skipped',
): PlainObject {
  if (!areDrafts(form, sent)) return sent
  const { drafts, skipped: marks } = sent as { readonly drafts: PlainObject; readonly skipped?: unknown }
  const isSkipped = (name: string) =>
    isPlainObject(marks) &&
    Object.hasOwn(marks, name) &&
    Boolean(marks[name]) &&
    form.wizard.some((step) => step.name === name && step.optional)
  const others = Object.entries(sent).filter(([name]) => !OF_PAGES.has(name))
  const steps = Object.entries(drafts).filter(([name]) => skipped === 'with skipped' || !isSkipped(name))
  return Object.fromEntries([...others, ...steps])
}

/** Converts values in the shape of this service back to the shape in which they were sent. */
export function inShapeOf(form: Wizard, sent: PlainObject, values: PlainObject): PlainObject {
  if (!areDrafts(form, sent)) return values
  const { __wizard__, skipped: marks } = sent
  const skipped = isPlainObject(marks) ? { skipped: marks } : {}
  const steps = new Set(form.wizard.map(({ name }) => name))
  const part = (isOfStep: boolean) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => steps.has(name) === isOfStep))
  return { ...part(false), __wizard__, drafts: part(true), ...skipped }
}
