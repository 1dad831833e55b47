import { describe, expect, test } from 'vitest'
import { postgresConfigOf } from '../../../control-plane/src/store/postgres/postgres-url.js'

const ADDRESS = 'postgres://ann:p%40ss@db.example:5433/jobs'
const PARTS = { user: 'ann', password: 'p@ss', host: 'db.example', port: 5433, database: 'jobs' }

describe('the address of a PostgreSQL database', () => {
  test('without a mode leaves TLS to the driver', () => {
    const config = postgresConfigOf(ADDRESS)
    expect(config).toMatchObject(PARTS)
    expect(config).not.toHaveProperty('ssl')
  })

  test.each([
    ['disable', false],
    ['no-verify', { rejectUnauthorized: false }],
    ['require', {}],
    ['verify-ca', {}],
    ['verify-full', {}],
  ])('with sslmode=%s decides about TLS', (mode, ssl) => {
    const config = postgresConfigOf(`${ADDRESS}?sslmode=${mode}`)
    expect(config).toMatchObject(PARTS)
    expect(config.ssl).toEqual(ssl)
    // The driver reads the mode in its own way, so it does not see it.
    expect(config).not.toHaveProperty('sslmode')
  })

  test.each(['prefer', 'allow', '', 'REQUIRE'])('with another sslmode is refused: "%s"', (mode) => {
    expect(() => postgresConfigOf(`${ADDRESS}?sslmode=${mode}`)).toThrow(
      'sslmode must be one of disable, no-verify, require, verify-ca, verify-full',
    )
  })

  test('keeps its other settings', () => {
    expect(postgresConfigOf(`${ADDRESS}?sslmode=disable&application_name=x`)).toMatchObject({ application_name: 'x' })
  })

  test.each([
    ['no address', 'somewhere', 'is no address such as postgres://user:password@host:5432/database'],
    ['without a database', 'postgres://ann:secret@db.example', 'must name the database'],
    ['with an empty database', 'postgres://ann:secret@db.example/', 'must name the database'],
  ])('%s is refused, and its password is not said', (_what, address, words) => {
    expect(() => postgresConfigOf(address)).toThrow(words)
    expect(() => postgresConfigOf(address)).not.toThrow('secret')
  })
})
