/** A user's name with its kind, since every kind has names of its own; local users are plain. */
export function userName(name: string, type: string | null): string {
  return type === null || type === 'local' ? name : `${name} (${type})`
}
