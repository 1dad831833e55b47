import type { Field } from '../fields/field.js'

/** The reserved key of the inventory, as fields set it. */
const KEY = '__inventory__'

/**
 * The texts that a form itself offers for the inventory: choices, constants or defaults of a field. They come from the
 * author of the form. A user only chooses among them.
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

/** A choice is a text, or an object with the value in one property. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((item: unknown) =>
    typeof item === 'object' && item !== null
      ? Object.values(item).filter((text) => typeof text === 'string')
      : textsIn(item),
  )
}
