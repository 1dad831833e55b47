import { COMPLETING_RULES } from './completing-rules.js'
import { CONTRACT_RULES } from './contract-rules.js'

/** Every rule of the interface: one plain sentence under its id. Tests name the ids (`covers`), so an id stays. */
export const RULES = { ...CONTRACT_RULES, ...COMPLETING_RULES }

/** The id of a rule that a test may show. */
export type RuleId = keyof typeof RULES
