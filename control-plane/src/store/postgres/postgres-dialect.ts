import { type DataTypeNode, type Dialect, PostgresDialect, type PostgresPool, PostgresQueryCompiler } from 'kysely'

/** Kysely over connections to PostgreSQL. */
export function createPostgresDialect(pool: PostgresPool): Dialect {
  const dialect = new PostgresDialect({ pool })
  return {
    createAdapter: () => dialect.createAdapter(),
    createDriver: () => dialect.createDriver(),
    createIntrospector: (database) => dialect.createIntrospector(database),
    createQueryCompiler: () => new Compiler(),
  }
}

class Compiler extends PostgresQueryCompiler {
  /** Texts are compared and sorted by their bytes, as SQLite does. The language of the database does not matter. */
  protected override visitDataType(node: DataTypeNode): void {
    super.visitDataType(node)
    if (node.dataType === 'text') this.append(' collate "C"')
  }
}
