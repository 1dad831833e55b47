import { expect, test } from 'vitest'
import { measureBackup } from '../bench/backup.js'

/** A part of `scripts/bench` that says whether it can measure, with few jobs. */
test('the bench makes backups and restores, and finds all rows in the copy of the copy', async () => {
  const steps: string[] = []
  const figures = await measureBackup(200, (line) => void steps.push(line))
  expect(figures.map(({ what }) => what)).toEqual([
    '200 jobs: backup while the service runs',
    '200 jobs: restore into SQLite',
    '200 jobs: restore into PostgreSQL',
    '200 jobs: backup of PostgreSQL',
  ])
  expect(figures.filter(({ value }) => !(value > 0))).toEqual([])
  expect(steps).toHaveLength(5)
})
