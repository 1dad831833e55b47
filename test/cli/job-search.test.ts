import { describe, expect, it } from 'vitest'
import { type CliOptions } from './run-cli.js'
import { serviceOfFile } from './answering.js'

/** What `job search` and `job output` show of the output of a job. */
const { service, person } = await serviceOfFile()
const run = (args: readonly string[], options: CliOptions = {}) => person.run(['job', ...args], options)

describe('job search', () => {
  /** Has the service find these hits in an output: by each answer, those of one second. */
  function finding(output: string, ...answers: readonly (readonly (readonly [number, number])[])[]): void {
    service.addJob({ output: Buffer.from(output) })
    let asked = 0
    service.override = ({ path }) => {
      if (path !== '/job/1/output/search') return null
      const hits = answers[asked] ?? []
      asked += 1
      const next = asked < answers.length ? asked * 1000 : null
      return { status: 200, body: { count: hits.length, complete: next === null, hits, next } }
    }
  }
  const searches = () =>
    service.seen.filter(({ path }) => path.endsWith('/search')).map(({ query }) => Object.fromEntries(query))

  it('shows the whole line of a hit with its number, also the first, the last and the shortest line', async () => {
    finding('a first\nx\n\u001b[31mthe middle\u001b[0m a\nlast a', [
      [0, 0],
      [1, 8],
      [2, 19],
      [3, 36],
    ])
    const { code, stdout } = await run(['search', '1', 'a'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '1: a first\n2: x\n3: the middle a\n4: last a\n' })
    expect(searches()).toEqual([{ q: 'a', case: 'false', from: '0' }])
  })

  it('shows a line with several hits once, and asks until the service has reached the end', async () => {
    finding(
      'aa\nba\nb\n',
      [
        [0, 0],
        [0, 1],
      ],
      [],
      [[1, 4]],
    )
    const { stdout } = await run(['search', '1', 'a', '--case'])
    expect(stdout).toBe('1: aa\n2: ba\n')
    expect(searches()).toEqual([
      { q: 'a', case: 'true', from: '0' },
      { q: 'a', case: 'true', from: '1000' },
      { q: 'a', case: 'true', from: '2000' },
    ])
  })

  it('shows the line of its first hit where a long line has more than one', async () => {
    const long = `${'-'.repeat(2500)}a${'-'.repeat(2500)}a`
    finding(`${long}\n`, [
      [0, 2500],
      [0, 5001],
    ])
    expect((await run(['search', '1', 'a'])).stdout).toMatch(/^1: -+a-{1999,2500}/)
    expect(service.seen.at(-1)?.query.get('offset')).toBe('500')
  })

  it.each([
    [100, ''],
    [101, '… and 1 more lines\n'],
  ])('shows a hundred of %i lines, and counts the others', async (count, more) => {
    finding('a\n'.repeat(count), [...Array.from({ length: count }, (_, at) => [at, 2 * at] as const)])
    const { stdout } = await run(['search', '1', 'a'])
    expect(stdout.endsWith(`100: a\n${more}`)).toBe(true)
    expect(stdout.match(/: a$/gm)).toHaveLength(100)
  })

  it('says so when nothing is found, and tells programs the hits without their lines', async () => {
    finding('b\n', [])
    expect((await run(['search', '1', 'a'])).stdout).toBe('Nothing found.\n')
    finding('a\n', [[0, 0]])
    service.seen.length = 0
    const { stdout } = await run(['search', '1', 'a', '--json'])
    expect(JSON.parse(stdout)).toEqual({ count: 1, hits: [[0, 0]] })
    expect(service.seen).toHaveLength(1)
  })
})

describe('job output', () => {
  it.each<[readonly string[], string, object]>([
    [[], '/job/1/download', {}],
    [['--host', 'web1'], '/job/1/output/pieces', { host: 'web1' }],
    [['--task', '1'], '/job/1/output/pieces', { task: '1' }],
    [['--host', 'web1', '--task', '12'], '/job/1/output/pieces', { host: 'web1', task: '12' }],
  ])('with %j asks for %s with %j', async (options, path, query) => {
    service.addJob({ output: Buffer.from('printed\n') })
    expect(await run(['output', '1', ...options])).toMatchObject({ code: 0, stdout: 'printed\n' })
    expect(service.seen.map((one) => [one.path, Object.fromEntries(one.query)])).toEqual([[path, query]])
  })

  it.each(['0', '-1', '1.5', 'one', '9007199254740993'])('with the task %s ends with exit code 2', async (task) => {
    const { code, stderr } = await run(['output', '1', `--task=${task}`])
    expect(code).toBe(2)
    expect(stderr).toContain('--task must be a number of "holdfast job timeline".')
    expect(service.seen).toEqual([])
  })

  it('has no commands for the terminal at which it is shown', async () => {
    service.addJob({ output: Buffer.from('one\u001b[2Jtwo\n') })
    expect((await run(['output', '1'], { screenColumns: 80 })).stdout).toBe('onetwo\n')
    expect((await run(['download', '1'], { screenColumns: 80 })).stdout).toBe('onetwo\n')
  })
})
