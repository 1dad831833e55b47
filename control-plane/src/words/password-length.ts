/** Fewest characters of a password. */
export const SHORTEST_PASSWORD = 12
/** Most characters of a password. A longer one would only make its hash slower. */
export const MAX_PASSWORD_LENGTH = 1024
