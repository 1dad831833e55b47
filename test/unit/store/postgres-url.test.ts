import { expect, test } from 'vitest'
import { postgresConfigOf } from '../../../control-plane/src/store/postgres/postgres-url.js'

const ADDRESS = 'postgres://ann:p%40ss@db.example:5433/jobs'
const PARTS = { user: 'ann', password: 'p@ss', host: 'db.example', port: 5433, database: 'jobs' }

test.each<[string, object]>([
  ['', {}],
  ['?sslmode=disable&application_name=x', { ssl: false, application_name: 'x' }],
  ['?sslmode=no-verify', { ssl: { rejectUnauthorized: false } }],
  ['?sslmode=require', { ssl: {} }],
  ['?sslmode=verify-full', { ssl: {} }],
])('the address of a PostgreSQL database with "%s" says how it is reached', (more, expected) => {
  const config = postgresConfigOf(ADDRESS + more)
  expect(config).toMatchObject({ ...PARTS, ...expected })
  // The driver reads the mode in its own way, so it does not see it.
  expect([Object.hasOwn(config, 'ssl'), Object.hasOwn(config, 'sslmode')]).toEqual([more !== '', false])
})

test.each([
  [`postgres://ann:secret@db.example/jobs?sslmode=prefer`, 'sslmode must be one of'],
  ['somewhere', 'is no address'],
  ['postgres://ann:secret@db.example/', 'must name the database'],
])('%s is refused, and its password is not said', (address, words) => {
  expect(() => postgresConfigOf(address)).toThrow(words)
  expect(() => postgresConfigOf(address)).not.toThrow('secret')
})
