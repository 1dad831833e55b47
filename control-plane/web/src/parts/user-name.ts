/**
 * A user's name with its kind, since every kind has names of its own: `jane` of the directory is not the local `jane`.
 * Local users are plain.
 */
export function userName(name: string, type: string | null | undefined): string {
  return type === null || type === undefined || type === 'local' ? name : `${name} (${type})`
}
