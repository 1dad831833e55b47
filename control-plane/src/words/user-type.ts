/** Where an account comes from: made here, or known by a directory or a provider. */
export const USER_TYPES = ['local', 'ldap', 'azuread', 'oidc'] as const
/** One of {@link USER_TYPES}. */
export type UserType = (typeof USER_TYPES)[number]

/** The user type of a text from outside; null: there is no such type. */
export function userTypeOf(text: string): UserType | null {
  return USER_TYPES.find((type) => type === text) ?? null
}
