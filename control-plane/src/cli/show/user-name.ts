/** The name of a user with its kind, because two kinds may have the same name. A local user has no kind behind the name. */
export function userName(name: string, type: string | null): string {
  return type === null || type === 'local' ? name : `${name} (${type})`
}
