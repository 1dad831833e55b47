/** What `check` of a program found when it looked at one thing. */
export interface Finding {
  readonly subject: string
  readonly state: 'ok' | 'warning' | 'problem'
  /** A few words for an admin. */
  readonly words: string
  /** What to do about it; null where nothing is to be done. */
  readonly advice: string | null
}

/** All is well with it. */
export function fine(subject: string, words: string): Finding {
  return { subject, state: 'ok', words, advice: null }
}

/** The program works, and an admin should know this. */
export function doubtful(subject: string, words: string, advice: string): Finding {
  return { subject, state: 'warning', words, advice }
}

/** The program cannot do its work while this is so. */
export function wrong(subject: string, words: string, advice: string): Finding {
  return { subject, state: 'problem', words, advice }
}

const SIGNS = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' } as const

/** The lines for a person. */
export function linesOf({ subject, state, words, advice }: Finding): string[] {
  return [`${SIGNS[state]}  ${subject}: ${words}`, ...(advice === null ? [] : [`         -> ${advice}`])]
}
