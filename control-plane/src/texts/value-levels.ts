export { isDeeperThan } from '@holdfast/protocol'

/**
 * Most levels of objects and lists in any value that comes from outside: a value of a person, a file, an answer of a
 * source. Code that goes through such values may be recursive. V8 ends the whole process, not only the request, when it
 * compiles a regular expression near the end of the stack. Python, which reads the values in the end, fails at about
 * 1000 levels.
 */
export const MAX_LEVELS = 100

/**
 * Most values and names of one text that comes from a person, or of one YAML file. A launch with all rows that a form
 * accepts (500 with 20 columns, sent twice) has 40,000. Every step of a launch goes through all of them.
 */
export const MAX_VALUES = 50_000
