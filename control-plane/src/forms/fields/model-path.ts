/** A step on the way to where a value goes: a key of an object, or a place in a list. */
export type PathStep = string | number

/** Places past this one would make lists of mostly nothing. */
const LAST_PLACE = 999

/** Keys that would reach the prototype instead of the object. */
export const UNSAFE_KEYS: ReadonlySet<string> = new Set(['__proto__'])

/**
 * Reads a dot path such as `vm.disks[0].name`.
 * @returns null when it is none: an empty step, a place that is no number, too large a place
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
  }
  return steps
}

/** Reads the `model` of a field: a dot path; one that begins with a slash is at the root of the variables. */
export function parseModel(text: string): readonly PathStep[] | null {
  return parsePath(text.replace(/^\//, ''))
}

/**
 * Where the value of a field goes in the extra variables: where its `model` says, or under its own name.
 * @param base of the wizard step that the field is in; a model that begins with a slash does not count from there
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
