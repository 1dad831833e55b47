import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, onTestFinished } from 'vitest'
import { type FakeService, type SeenRequest, startFakeService } from './fake-service.js'
import { type CliOptions, type CliResult, type Person, newQuickPerson } from './run-cli.js'

/** What a control plane answers, by method and path: `GET /runner`. A function makes the answer of the request. */
export type Answers = Readonly<Record<string, unknown>>

/** A script with an API token, and a control plane that has these answers. */
export interface Script {
  run(command: string | readonly string[], options?: CliOptions): Promise<CliResult>
  /** The requests that changed something: `POST /runner/7/approve`, and the body if there is one. */
  changes(): readonly (string | readonly [string, unknown])[]
  /** All requests. */
  readonly seen: readonly SeenRequest[]
}

/** A fake control plane for all tests of a file, which each of them finds as a new one, and a script with its token. */
export async function serviceOfFile(): Promise<{ readonly service: FakeService; readonly person: Person }> {
  const service = await startFakeService()
  const person = {} as Person
  beforeEach(() => {
    Object.assign(person, newQuickPerson({ HOLDFAST_TOKEN: 'script-token', HOLDFAST_SERVER: service.address }))
  })
  afterEach(() => service.reset())
  afterAll(() => service.stop())
  return { service, person }
}

/** A time without a zone is the same text everywhere. */
export const NOON = '2026-11-20T12:00:00'
export const NOON_SHOWN = '2026-11-20 12:00:00'

export async function scriptWith(answers: Answers): Promise<Script> {
  const service = await startFakeService()
  onTestFinished(() => service.stop())
  service.override = (request) => {
    const answer = answers[`${request.method} ${request.path}`]
    if (answer === undefined) return null
    return {
      status: 200,
      body: typeof answer === 'function' ? (answer as (of: SeenRequest) => unknown)(request) : answer,
    }
  }
  const person = newQuickPerson({ HOLDFAST_TOKEN: 'script-token', HOLDFAST_SERVER: service.address })
  return {
    seen: service.seen,
    run: (command, options) => person.run(typeof command === 'string' ? command.split(' ') : command, options),
    changes: () =>
      service.seen
        .filter(({ method }) => method !== 'GET')
        .map(({ method, path, body }) =>
          body === undefined ? `${method} ${path}` : ([`${method} ${path}`, body] as const),
        ),
  }
}

/** The answer of a list. */
export const listOf = (...records: readonly unknown[]) => ({ count: records.length, records })

/** The cells of a table that went into a pipe: a list for each line, the titles first. */
export function cellsOf(stdout: string): readonly (readonly string[])[] {
  const lines = stdout.trimEnd().split('\n')
  return lines.map((line) => line.trim().split(/ {2,}/))
}

/** The path of a new file with this text, which is removed when the test ends. */
export function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-file-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'file')
  writeFileSync(path, text)
  return path
}
