import type { Dependency, Field } from '../fields/field.js'
import { inColumn } from '../values/choices.js'

/** The facts about another field that a condition needs. */
export interface DependencyTarget {
  /** Undefined for a field that is hidden or does not exist. */
  readonly value: unknown
  readonly field: Field | null
  /** Its value cannot be known. */
  readonly isWaiting: boolean
}

/** Finds the value of a field on which another one depends. */
export interface DependencyLookup {
  target(name: string): DependencyTarget
  /** Whether a field is shown and breaks no rule; null: it cannot be known. */
  isValid(name: string): boolean | null
}

/** Whether a field is shown; null when this depends on a value that cannot be known. */
export function isVisible(field: Field, lookup: DependencyLookup): boolean | null {
  if (field.dependencies === null) return true
  const held = field.dependencies.map((dependency) => holds(dependency, lookup))
  const isOr = field.dependencyFn === 'or' || field.dependencyFn === 'nor'
  const decided = held.some((one) => one === isOr) ? isOr : held.includes(null) ? null : !isOr
  const isInverted = field.dependencyFn === 'nand' || field.dependencyFn === 'nor'
  return decided === null ? null : decided !== isInverted
}

function holds(dependency: Dependency, lookup: DependencyLookup): boolean | null {
  if ('isValid' in dependency) {
    const isValid = lookup.isValid(dependency.on)
    return isValid === null ? null : (isValid === dependency.isValid) !== dependency.inverted
  }
  const { target, column } = targetOf(dependency.on, lookup)
  if (target.isWaiting) return null
  const compared = comparedValues(target, column)
  return compared.some((value) => dependency.values.includes(value)) !== dependency.inverted
}

/** `field.column` is split at its last dot. The left part may be `__parent__.field`. */
function targetOf(on: string, lookup: DependencyLookup): { target: DependencyTarget; column: string | null } {
  const dot = on.lastIndexOf('.')
  if (dot < 0 || /^(__parent__\.)+[^.]+$/.test(on)) return { target: lookup.target(on), column: null }
  return { target: lookup.target(on.slice(0, dot)), column: on.slice(dot + 1) }
}

/** A column is read as in a placeholder. Without one, a choice stands for its value column. */
function comparedValues({ value, field }: DependencyTarget, column: string | null): unknown[] {
  const key = column ?? (field?.type === 'enum' && field.valueColumn !== '*' ? field.valueColumn : null)
  const compared = key === null ? value : inColumn(value, key)
  return Array.isArray(compared) ? compared : [compared]
}
