const namesOf = (declaration) =>
  declaration.declarations?.map(({ id }) => id.name ?? 'this') ?? [declaration.id?.name ?? 'this']

/** Each export has a doc comment, which says what it is for (CONTRIBUTING.md). */
export const docComments = {
  create(context) {
    /** A type and a value, or the forms of a function, may share a name. One comment is enough for them. */
    const explained = new Set()
    return {
      'ExportNamedDeclaration[declaration], ExportDefaultDeclaration'(node) {
        const names = namesOf(node.declaration)
        const last = context.sourceCode.getCommentsBefore(node).at(-1)
        if (last?.type === 'Block' && last.value.startsWith('*')) for (const name of names) explained.add(name)
        const missing = names.find((name) => !explained.has(name))
        if (missing !== undefined) context.report({ node, message: `say in a doc comment what ${missing} is for` })
      },
    }
  },
}
