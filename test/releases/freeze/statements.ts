import pg from 'pg'

/** Tables in an order in which each comes after those that it refers to. */
const FIRST = ['user', 'upload', 'runner', 'job', 'job_sequence']

/**
 * A database of PostgreSQL as statements: the tables as the control plane made them, and their rows.
 * @param tables the statements that made the tables
 */
export async function statementsOf(url: string, tables: readonly string[]): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const lines = tables.map((text) => `${text};`)
    for (const name of await tableNames(client)) lines.push(...(await rowsOf(client, name)))
    const { rows } = await client.query<{ text: string }>(SEQUENCES)
    return `${[...lines, ...rows.map(({ text }) => text)].join('\n')}\n`
  } finally {
    await client.end()
  }
}

async function tableNames(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  )
  const names = rows.map(({ name }) => name)
  return [...FIRST.filter((name) => names.includes(name)), ...names.filter((name) => !FIRST.includes(name))]
}

async function rowsOf(client: pg.Client, table: string): Promise<string[]> {
  const { rows, fields } = await client.query<unknown[]>({ text: `select * from "${table}"`, rowMode: 'array' })
  const columns = fields.map(({ name }) => `"${name}"`).join(', ')
  return rows.map((row) => `insert into "${table}" (${columns}) values (${row.map(literal).join(', ')});`)
}

function literal(value: unknown): string {
  if (value === null) return 'null'
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`
  if (value instanceof Date) return `'${value.toISOString()}'`
  return typeof value === 'number' ? String(value) : pg.escapeLiteral(String(value))
}

/** From where the numbers of rows go on. */
const SEQUENCES = `
  select format('select setval(%L, %s, false);', pg_get_serial_sequence(quote_ident(table_name), column_name),
    (xpath('/row/m/text()', query_to_xml(format('select coalesce(max(id), 0) + 1 as m from %I', table_name), false, true, '')))[1])
    as text
  from information_schema.columns
  where table_schema = 'public' and is_identity = 'YES' order by table_name`
