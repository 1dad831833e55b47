// The rules about rooms (docs/architecture.md).
import { readFileSync } from 'node:fs'
import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLayerRules } from './layer-rules.js'
import { moduleOf, readImporters, reaching } from './module-graph.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const rules = createLayerRules(JSON.parse(readFileSync(new URL('../../layers.json', import.meta.url), 'utf8')))

const pathOf = (context) => relative(ROOT, context.filename).split(sep).join('/')

/** Calls `visit` with every import of a module: its text, whether it is one of types only, and its node. */
function imports(visit) {
  const see = (node, isType) => {
    if (typeof node.source?.value === 'string') visit(node.source.value, isType, node)
  }
  const isOfTypes = (node) =>
    node.importKind === 'type' ||
    node.exportKind === 'type' ||
    (node.specifiers?.length > 0 &&
      node.specifiers.every((one) => one.importKind === 'type' || one.exportKind === 'type'))
  return {
    ImportDeclaration: (node) => see(node, isOfTypes(node)),
    ExportNamedDeclaration: (node) => see(node, isOfTypes(node)),
    ExportAllDeclaration: (node) => see(node, isOfTypes(node)),
    ImportExpression: (node) => see(node, false),
    TSImportType: (node) => see(node, true),
  }
}

/** A module imports only what stands below it. */
export const layers = {
  create(context) {
    const file = pathOf(context)
    const report = (node, message) => {
      if (message !== null) context.report({ node, message: `${message} (docs/architecture.md)` })
    }
    return {
      Program: (node) => report(node, rules.problemOfPlace(file)),
      ...imports((text, isType, node) => {
        report(
          node,
          text.startsWith('.')
            ? rules.problemOfImport(file, moduleOf(file, text))
            : rules.problemOfPackage(file, text, isType),
        )
      }),
    }
  },
}

/** Read once for a run of the linter. */
let importers
/** Modules do not import each other in a circle. */
export const noCycles = {
  create(context) {
    const file = pathOf(context)
    let circle
    return imports((text, _isType, node) => {
      if (!text.startsWith('.')) return
      circle ??= reaching((importers ??= readImporters(ROOT)), file)
      const target = moduleOf(file, text)
      if (target !== file && !circle.has(target)) return
      context.report({ node, message: `imports in a circle: ${target} imports this module, directly or by others` })
    })
  },
}
