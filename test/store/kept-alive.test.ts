import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestStore } from '../support/test-database.js'

/** The kernel's word for "it looks from time to time whether the other side is still there". */
const KEEP_ALIVE = '02'

/** Which timer of the kernel runs for each connection from a port of this host. */
function timersByPort(): Map<number, string> {
  const [, ...lines] = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n')
  return new Map(
    lines.map((line) => {
      const [, local = '', , , , timer = ''] = line.trim().split(/\s+/)
      return [parseInt(local.split(':')[1] ?? '', 16), timer.split(':')[0] ?? '']
    }),
  )
}

test('idle connections to the database are kept alive: a firewall does not forget them', async () => {
  const store = await openTestStore('', 'postgres')
  try {
    await store.write('test.write', (queries) => sql`select 1`.execute(queries))
    const { rows } = await sql<{ port: number }>`
      select client_port as port from pg_stat_activity
      where datname = current_database() and application_name = 'holdfast'`.execute(store.read)
    expect(rows.length).toBeGreaterThan(1)
    const timers = timersByPort()
    expect(rows.map(({ port }) => timers.get(port))).toEqual(rows.map(() => KEEP_ALIVE))
  } finally {
    await store.close()
  }
})
