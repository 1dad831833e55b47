import { MAX_LEVELS } from '../../texts/value-levels.js'

/** A part of the path to the place of a value: a key of an object, or an index of a list. */
export type PathStep = string | number

/** Highest index. A higher one would make lists with almost only empty places. */
const LAST_PLACE = 999

/** Keys that would reach the prototype instead of the object. */
export const UNSAFE_KEYS: ReadonlySet<string> = new Set(['__proto__'])

/**
 * Reads a dot path such as `vm.disks[0].name`.
 * @returns null when the text is not a path: it has an empty part, an index that is not a number, an index that is too
 * high, or more steps than values may have levels
 */
export function parsePath(text: string): readonly PathStep[] | null {
  const steps: PathStep[] = []
  for (const part of text.split('.')) {
    const match = /^([^[\]]+)((?:\[\d{1,9}\])*)$/.exec(part.trim())
    if (!match || UNSAFE_KEYS.has(match[1] ?? '')) return null
    steps.push(match[1] ?? '')
    for (const [, place] of (match[2] ?? '').matchAll(/\[(\d+)\]/g)) {
      if (Number(place) > LAST_PLACE) return null
      steps.push(Number(place))
    }
    if (steps.length > MAX_LEVELS) return null
  }
  return steps
}

/** Reads the `model` of a field: a dot path; one that begins with a slash is at the root of the variables. */
export function parseModel(text: string): readonly PathStep[] | null {
  return parsePath(text.replace(/^\//, ''))
}

/**
 * The place of a field's value in the extra variables: that of its `model`, or its own name.
 * @param base the place of the wizard step with the field. A model that begins with a slash does not start there
 */
export function placesOf(
  { name, model }: { readonly name: string; readonly model: readonly string[] },
  base: readonly PathStep[] = [],
): (readonly PathStep[])[] {
  if (model.length === 0) return [[...base, name]]
  return model.map((text) => {
    const path = parseModel(text) ?? []
    return text.startsWith('/') ? path : [...base, ...path]
  })
}
