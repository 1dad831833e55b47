import type { Field } from './fields/field.js'

/** The reserved key of the inventory, as a field puts it out. */
const KEY = '__inventory__'

/**
 * The texts that a form itself offers for the inventory, as choices, constants or defaults of a field. They are the
 * author's words: a user only chooses among them.
 */
export function listedInventories(fields: readonly Field[]): string[] {
  const ofInventory = fields.filter(({ name, model }) =>
    model.length > 0 ? model.some((path) => path === KEY || path.endsWith(`.${KEY}`)) : name === KEY,
  )
  return ofInventory.flatMap(({ source, default: value }) => [
    ...(source.kind === 'constant' ? textsIn(source.value) : []),
    ...textsIn(value),
  ])
}

/** A choice is a text, or an object of which one property is the value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((item: unknown) =>
    typeof item === 'object' && item !== null
      ? Object.values(item).filter((text) => typeof text === 'string')
      : textsIn(item),
  )
}
