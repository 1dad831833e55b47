/**
 * How many of so many things in order come before the first one of which something is true. It is true of all later ones,
 * too, so it is found by halves.
 */
export function countBefore(count: number, isTrue: (index: number) => boolean): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isTrue(middle)) high = middle
    else low = middle + 1
  }
  return low
}
