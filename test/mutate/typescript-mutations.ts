import ts from 'typescript'
import type { Mutation } from './mutation.js'

const SWAPPED: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [ts.SyntaxKind.AmpersandAmpersandToken]: '||',
  [ts.SyntaxKind.BarBarToken]: '&&',
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.PlusEqualsToken]: '-=',
  [ts.SyntaxKind.MinusEqualsToken]: '+=',
}

/** What is only said in the log, or is a type, is no part of what tests have to notice. */
const LOG_CALL = /(^|\.)(#?log|logger)\.(child|trace|debug|info|warn|error|fatal)$/

/** Every mutation that a TypeScript file allows, in the order of the file. */
export function typescriptMutations(path: string, text: string): Mutation[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  const found: Mutation[] = []
  const add = (kind: string, start: number, end: number, replacement: string): void => {
    found.push({ path, kind, start, end, replacement })
  }

  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isImportDeclaration(node)) return
    if (isLogStatement(node)) return
    mutate(node, add)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found.sort((one, other) => one.start - other.start || one.end - other.end)
}

type Add = (kind: string, start: number, end: number, replacement: string) => void

function mutate(node: ts.Node, add: Add): void {
  if (ts.isBinaryExpression(node)) swapOperator(node, add)
  const condition = conditionOf(node)
  if (condition) {
    const text = condition.getText()
    add('negated condition', condition.getStart(), condition.end, `!(${text})`)
  }
  if (ts.isAwaitExpression(node)) add('dropped await', node.getStart(), node.expression.getStart(), '')
  if (node.kind === ts.SyntaxKind.TrueKeyword) add('false for true', node.getStart(), node.end, 'false')
  if (node.kind === ts.SyntaxKind.FalseKeyword) add('true for false', node.getStart(), node.end, 'true')
  if (ts.isExpressionStatement(node) && isCall(node.expression)) {
    add('removed call', node.getStart(), node.end, ';')
  }
  if (ts.isArrayLiteralExpression(node) && node.elements.length > 1) removeMembers(node, add)
}

function swapOperator(node: ts.BinaryExpression, add: Add): void {
  const { operatorToken: token, right } = node
  const other = SWAPPED[token.kind]
  if (other !== undefined) add(`${other} for ${token.getText()}`, token.getStart(), token.end, other)
  if (!ts.isNumericLiteral(right) || right.text !== '1') return
  if (token.kind === ts.SyntaxKind.PlusToken) add('- 1 for + 1', token.getStart(), token.end, '-')
  if (token.kind === ts.SyntaxKind.MinusToken) add('+ 1 for - 1', token.getStart(), token.end, '+')
}

function conditionOf(node: ts.Node): ts.Expression | null {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) return node.expression
  return ts.isConditionalExpression(node) ? node.condition : null
}

function isCall(expression: ts.Expression): boolean {
  if (ts.isAwaitExpression(expression) || ts.isVoidExpression(expression)) return isCall(expression.expression)
  return ts.isCallExpression(expression) && expression.expression.kind !== ts.SyntaxKind.SuperKeyword
}

function isLogStatement(node: ts.Node): boolean {
  if (!ts.isExpressionStatement(node) || !ts.isCallExpression(node.expression)) return false
  return LOG_CALL.test(node.expression.expression.getText())
}

/** Members that are plain texts: names in a list. */
function removeMembers({ elements }: ts.ArrayLiteralExpression, add: Add): void {
  elements.forEach((element, index) => {
    if (!ts.isStringLiteral(element)) return
    const next = elements[index + 1]
    const before = elements[index - 1]
    if (next) add('removed member', element.getStart(), next.getStart(), '')
    else if (before) add('removed member', before.end, element.end, '')
  })
}
