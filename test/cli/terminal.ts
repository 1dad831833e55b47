import { stripVTControlCharacters } from 'node:util'
import { expect } from 'vitest'
import type { TestServer } from '../api/server.js'
import { waitFor } from '../support/wait.js'
import { type RunningCli, newPerson } from './run-cli.js'

/** A command at a pseudo-terminal, with somebody who reads its screen and presses keys. */
export interface AtTerminal extends RunningCli {
  /** Everything that was on the screen so far, without colours. */
  screen(): string
  /** Waits until a text comes behind what was seen before, and then presses keys. */
  at(text: string, ...keys: readonly string[]): Promise<void>
}

/** Starts a command of a person with these settings in the environment. */
export function startAtTerminal(environment: Readonly<Record<string, string>>, args: readonly string[]): AtTerminal {
  const running = newPerson(environment).start(args, { terminal: true, columns: 100 })
  let seen = 0
  const screen = () => stripVTControlCharacters(running.stdout())
  return {
    ...running,
    screen,
    async at(text, ...keys) {
      await waitFor(`${JSON.stringify(text)} in ${JSON.stringify(screen().slice(seen))}`, () =>
        screen().includes(text, seen),
      )
      seen = screen().indexOf(text, seen) + text.length
      for (const key of keys) running.process.stdin.write(key)
    },
  }
}

/** Starts the questions for a form, as an admin. */
export function askAt(server: TestServer, form: string, ...more: readonly string[]): AtTerminal {
  const settings = { HOLDFAST_TOKEN: server.admin, HOLDFAST_SERVER: server.url }
  return startAtTerminal(settings, ['job', 'launch', form, '--ask', ...more])
}

/** Extra variables of the job that a command has launched, once it has ended. */
export async function launchedBy(cli: AtTerminal, server: TestServer): Promise<Record<string, unknown>> {
  expect(await cli.ended, cli.screen()).toMatchObject({ code: 0 })
  const { body } = await server.call('GET', '/job', { token: server.admin })
  const [last] = body.records as { id: number }[]
  const job = await server.call('GET', `/job/${last?.id}`, { token: server.admin })
  return job.body.extravars as Record<string, unknown>
}
