/** Where a field of a form is: the step of a wizard, the lists with the numbers of their rows, its name. */
export type Place = readonly (string | number)[]

/** The key of a place, as the control plane writes it: `step.field`; in rows `list.0.field`. */
export function keyOf(place: Place): string {
  return place.join('.')
}
