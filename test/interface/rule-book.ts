import { ACCESS } from './rules/access.js'
import { COMPLETING } from './rules/completing.js'
import { ENDPOINTS } from './rules/endpoints.js'
import { FORMS } from './rules/forms.js'
import { LIVE } from './rules/live.js'
import { RESOURCES } from './rules/resources.js'
import { SEQUENCES } from './rules/sequences.js'
import { STATES } from './rules/states.js'

/** Sections of rules by title; each rule is one plain sentence under its id. */
export type Sections = Readonly<Record<string, Readonly<Record<string, string>>>>

type IdsOf<Part extends Sections> = { [Title in keyof Part]: keyof Part[Title] & string }[keyof Part]

/** Every rule that a test may show. */
export type RuleId =
  | IdsOf<typeof RESOURCES>
  | IdsOf<typeof STATES>
  | IdsOf<typeof ENDPOINTS>
  | IdsOf<typeof ACCESS>
  | IdsOf<typeof LIVE>
  | IdsOf<typeof COMPLETING>
  | IdsOf<typeof FORMS>
  | IdsOf<typeof SEQUENCES>

/** A part of the rules: where they come from, in the order in which they are shown. */
export interface RulePart {
  readonly title: string
  readonly about: string
  readonly sections: Sections
}

/** All rules. Ids are stable: a test names them. */
export const RULE_BOOK: readonly RulePart[] = [
  {
    title: 'The service interface',
    about: 'The contract that scripts are written for: jobs and live events.',
    sections: { ...RESOURCES, ...STATES, ...ENDPOINTS, ...ACCESS, ...LIVE },
  },
  {
    title: 'What completes it',
    about: 'What the contract leaves open, and what this service does there.',
    sections: { ...COMPLETING, ...FORMS, ...SEQUENCES },
  },
]

/** The rules as a set of ids. */
export function allRules(): Set<string> {
  return new Set(RULE_BOOK.flatMap((part) => Object.values(part.sections)).flatMap((rules) => Object.keys(rules)))
}
