import { expect, test } from 'vitest'
import { askForJob } from '../../control-plane/src/cli/commands/job/launch/new-job.js'
import { CliError, UnreachableError } from '../../control-plane/src/cli/errors.js'

/** What is said of a launch whose request failed with this code of the system, as fetch wraps it. */
async function saidAt(code: string, isDeep: boolean): Promise<string> {
  const ofSystem = Object.assign(new Error('the network'), { code })
  const cause = isDeep ? new TypeError('fetch failed', { cause: ofSystem }) : ofSystem
  const failed = askForJob(() => Promise.reject(new UnreachableError('The server does not answer.', { cause })))
  const error: unknown = await failed.catch((one: unknown) => one)
  if (!(error instanceof CliError)) throw error
  expect(error.exitCode).toBe(3)
  return error.message
}

test.each(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])(
  'without a connection (%s) there is no job, and nothing is said of one',
  async (code) => {
    for (const isDeep of [true, false]) expect(await saidAt(code, isDeep)).toBe('The server does not answer.')
  },
)

test.each(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET'])(
  'when the connection is lost (%s) there may be a job, and the error says how to find it',
  async (code) => {
    for (const isDeep of [true, false]) expect(await saidAt(code, isDeep)).toContain('look with holdfast job list')
  },
)
