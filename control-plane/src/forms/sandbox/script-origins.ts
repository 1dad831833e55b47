import {
  type AnyNode,
  type ArrowFunctionExpression,
  type CallExpression,
  type Expression,
  type FunctionExpression,
  type Identifier,
  type Pattern,
  type Program,
  type SpreadElement,
  parse,
} from 'acorn'
import { full } from 'acorn-walk'
import { codePositions } from '../values/script-contexts.js'
import { findPlaceholders } from '../values/placeholders.js'

/** A range of characters of a script. */
export interface ScriptRange {
  readonly start: number
  readonly end: number
}

/** What a script hands over to the functions that ask, as far as its text shows it. */
export interface HandedOver {
  /** The content of texts, without their quotes. */
  readonly texts: readonly ScriptRange[]
  /** Placeholders that stand outside of texts. */
  readonly placeholders: readonly ScriptRange[]
  /** The content of all other texts. */
  readonly others: readonly ScriptRange[]
  /** For each function of the script: which of its arguments it only hands on. */
  readonly handing: HandingFunctions
}

/** By the names of functions: the positions of arguments that are only handed on to functions that ask. */
export type HandingFunctions = ReadonlyMap<string, ReadonlySet<number>>

/** The arguments of the functions below `fn.` for which it counts who wrote them: names, servers, commands and filters. */
const ARGUMENTS: ReadonlyMap<string, ReadonlySet<number>> = new Map(
  Object.entries({
    fnRestBasic: [1, 3, 4],
    fnRestJwt: [1, 3, 4],
    fnRestJwtSecure: [1, 3, 4],
    fnRestAdvanced: [1, 3, 4],
    fnParseHtmlWithRegex: [0, 3],
    fnCredentials: [0, 1],
    fnSsh: [0, 1, 2, 3],
    fnJq: [1],
    fnReadYamlFile: [1],
    fnReadJsonFile: [1],
  }).map(([name, positions]) => [name, new Set(positions)]),
)

type Walked = SpreadElement | Expression | Pattern
type FunctionNode = FunctionExpression | ArrowFunctionExpression

/**
 * Reads a script as its author wrote it, with its placeholders, and finds the texts that reach the functions that ask. A text
 * that goes another way (through a variable that changes, a list, a function of texts) is not found. It counts as typed.
 * @param handing the functions of the installation that the script may call
 * @returns null when the script cannot be read
 */
export function readScript(script: string, isModule: boolean, handing: HandingFunctions): HandedOver | null {
  const walked = walkedFrom(withoutPlaceholders(script), isModule, handing)
  if (walked === null) return null
  const { offset, found } = walked
  const inScript = (range: ScriptRange): ScriptRange => ({ start: range.start - offset, end: range.end - offset })
  const texts = found.texts.map(inScript)
  const known = new Set(texts.map(({ start }) => start))
  const standing = new Map(findPlaceholders(script).map((one) => [one.start, one]))
  return {
    texts,
    others: found.allTexts.map(inScript).filter(({ start }) => !known.has(start)),
    placeholders: found.identifiers.map(inScript).filter(({ start, end }) => standing.get(start)?.end === end),
    handing: found.handing,
  }
}

/** The script with a name of the same length in place of each placeholder in its code. */
function withoutPlaceholders(script: string): string {
  const isCode = codePositions(script)
  let plain = ''
  let end = 0
  for (const found of findPlaceholders(script)) {
    if (!isCode(found.start)) continue
    plain += script.slice(end, found.start) + '$'.repeat(found.end - found.start)
    end = found.end
  }
  return plain + script.slice(end)
}

/** Reads the script as the sandbox does: as an expression if that is possible. */
function walkedFrom(script: string, isModule: boolean, handing: HandingFunctions) {
  const options = {
    ecmaVersion: 'latest',
    sourceType: isModule ? 'module' : 'script',
    allowAwaitOutsideFunction: true,
  } as const
  const asItIs = { text: script, offset: 0 }
  const ways = isModule ? [asItIs] : [{ text: `(${script}\n)`, offset: 1 }, asItIs]
  for (const { text, offset } of ways) {
    try {
      return { found: createFinder(parse(text, options), handing), offset }
    } catch {
      // The next way, or none: no text counts as written in a script that cannot be read or is nested too deep.
    }
  }
  return null
}

/** A name that a script declares once. */
interface Binding {
  /** What it is set to; null: it is an argument. */
  readonly init: Expression | null
  readonly argumentOf: { readonly name: string; readonly position: number } | null
}

/** Walks from the functions that ask back to the texts that they get. */
function createFinder(root: Program, handing: HandingFunctions) {
  const facts = factsOf(root)
  const texts = new Map<number, ScriptRange>()
  const identifiers = new Map<number, Identifier>()
  const own = new Map<string, Set<number>>()
  const done = new Set<string>()

  /** Visits what a node may give as its value. */
  function visit(node: Walked | null | undefined): void {
    switch (node?.type) {
      case 'Literal':
        if (typeof node.value === 'string') texts.set(node.start, { start: node.start + 1, end: node.end - 1 })
        return
      case 'TemplateLiteral':
        for (const { start, end } of node.quasis) texts.set(start, { start, end })
        return node.expressions.forEach(visit)
      case 'ConditionalExpression':
        visit(node.consequent)
        return visit(node.alternate)
      case 'LogicalExpression':
        visit(node.left)
        return visit(node.right)
      case 'BinaryExpression':
        if (node.operator !== '+' || node.left.type === 'PrivateIdentifier') return
        visit(node.left)
        return visit(node.right)
      case 'SequenceExpression':
        return visit(node.expressions.at(-1))
      case 'AwaitExpression':
        return visit(node.argument)
      case 'Identifier':
        identifiers.set(node.start, node)
        return
      default:
        return
    }
  }

  function visitCall(call: CallExpression): void {
    const { space, name } = calleeOf(call)
    const positions = space === 'fn' ? ARGUMENTS.get(name) : space === 'fnc' ? handing.get(name) : own.get(name)
    for (const position of positions ?? []) {
      // Behind a spread nobody knows which argument is which.
      if (call.arguments.slice(0, position + 1).some(({ type }) => type === 'SpreadElement')) continue
      visit(call.arguments[position])
    }
  }

  // Each round may find more names that are only handed on, and so more texts.
  for (let isMore = true; isMore;) {
    isMore = false
    facts.calls.forEach(visitCall)
    const reached = new Map<string, number>()
    for (const { name } of identifiers.values()) reached.set(name, (reached.get(name) ?? 0) + 1)
    for (const [name, count] of reached) {
      const binding = facts.bindings.get(name)
      if (!binding || done.has(name) || facts.uses.get(name) !== count) continue
      done.add(name)
      isMore = true
      visit(binding.init)
      const { argumentOf } = binding
      if (argumentOf) own.set(argumentOf.name, (own.get(argumentOf.name) ?? new Set()).add(argumentOf.position))
    }
  }
  return { texts: [...texts.values()], identifiers: [...identifiers.values()], allTexts: facts.texts, handing: own }
}

/** All calls, texts and names of a script. */
function factsOf(root: Program) {
  const calls: CallExpression[] = []
  const texts: ScriptRange[] = []
  const uses = new Map<string, number>()
  const declared = new Map<string, number>()
  const bindings = new Map<string, Binding>()
  const functions = new Map<string, number>()
  const count = (names: Map<string, number>, name: string) => names.set(name, (names.get(name) ?? 0) + 1)

  function noteFunction(name: string, params: readonly Pattern[]): void {
    count(functions, name)
    params.forEach((param, position) => {
      const target = param.type === 'AssignmentPattern' ? param.left : param
      const init = param.type === 'AssignmentPattern' ? param.right : null
      if (target.type === 'Identifier') bindings.set(target.name, { init, argumentOf: { name, position } })
    })
  }

  full(root, (given, _state, type) => {
    const node = given as AnyNode
    // Names that are set, not read.
    if (type === 'VariablePattern') count(declared, (node as Identifier).name)
    else if (node.type === 'Identifier') count(uses, node.name)
    else if (node.type === 'CallExpression') calls.push(node)
    else if (node.type === 'Literal' && typeof node.value === 'string') {
      texts.push({ start: node.start + 1, end: node.end - 1 })
    } else if (node.type === 'TemplateLiteral') texts.push(...node.quasis.map(({ start, end }) => ({ start, end })))
    else if (node.type === 'FunctionDeclaration') noteFunction(node.id?.name ?? '', node.params)
    else if (node.type === 'VariableDeclarator' && node.id.type === 'Identifier' && node.init) {
      if (isFunction(node.init)) noteFunction(node.id.name, node.init.params)
      bindings.set(node.id.name, { init: node.init, argumentOf: null })
    } else if (node.type === 'Property' && node.key.type === 'Identifier' && !node.computed && isFunction(node.value)) {
      noteFunction(node.key.name, node.value.params)
    }
  })
  for (const [name, { argumentOf }] of bindings) {
    const isUnclear = declared.get(name) !== 1 || (argumentOf !== null && functions.get(argumentOf.name) !== 1)
    if (isUnclear) bindings.delete(name)
  }
  return { calls, texts, uses, bindings }
}

function isFunction(node: AnyNode): node is FunctionNode {
  return node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression'
}

function calleeOf({ callee }: CallExpression): { readonly space: string; readonly name: string } {
  if (callee.type === 'Identifier') return { space: '', name: callee.name }
  if (
    callee.type !== 'MemberExpression' ||
    callee.object.type !== 'Identifier' ||
    callee.property.type !== 'Identifier'
  ) {
    return { space: 'none', name: '' }
  }
  return callee.computed ? { space: 'none', name: '' } : { space: callee.object.name, name: callee.property.name }
}
