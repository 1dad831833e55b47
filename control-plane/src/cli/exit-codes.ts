/**
 * The exit codes of `holdfast`. A crash of Node.js ends with 1, so no outcome of a job has that number. Scripts can
 * distinguish "the job failed" from "the command failed".
 */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  unreachable: 3,
  notSignedIn: 4,
  refused: 5,
  databaseHeld: 6,
  jobFailed: 10,
  jobWarning: 11,
  jobAborted: 12,
  jobRejected: 13,
  jobAbandoned: 14,
  interrupted: 130,
} as const

/** An exit code of the command `holdfast`. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Every code with its meaning, as `--help` and docs/client.md list them. */
const EXIT_CODE_MEANINGS: readonly (readonly [ExitCode, string])[] = [
  [EXIT.ok, 'done; if the command followed a job: the job ended as success'],
  [EXIT.unexpected, 'something unexpected failed (a file, an answer that the client does not understand, a bug)'],
  [EXIT.usage, 'wrong command line or setting'],
  [EXIT.unreachable, 'the control plane cannot be reached, or cannot answer now'],
  [EXIT.notSignedIn, 'not signed in, or the sign-in was refused or has ended'],
  [EXIT.refused, 'the control plane refused the request (not allowed, not found, wrong state, wrong values)'],
  [EXIT.databaseHeld, 'serve: another control plane works on the same database file'],
  [EXIT.jobFailed, 'the followed job ended as failed'],
  [EXIT.jobWarning, 'the followed job ended as warning'],
  [EXIT.jobAborted, 'the followed job ended as aborted'],
  [EXIT.jobRejected, 'the followed job ended as rejected'],
  [EXIT.jobAbandoned, 'the followed job was abandoned; with --wait the command goes on until the real outcome'],
  [EXIT.interrupted, 'ended by Ctrl-C; a followed job goes on'],
]

/** The list of exit codes for the end of a `--help`. */
export function exitCodesText(): string {
  const lines = EXIT_CODE_MEANINGS.map(([code, meaning]) => `  ${String(code).padStart(3)}  ${meaning}`)
  return ['Exit codes:', ...lines].join('\n')
}

/** The exit code of a command that followed a job, by the final status of the job. */
const OUTCOMES: ReadonlyMap<string, ExitCode> = new Map([
  ['success', EXIT.ok],
  ['failed', EXIT.jobFailed],
  ['warning', EXIT.jobWarning],
  ['aborted', EXIT.jobAborted],
  ['rejected', EXIT.jobRejected],
  ['abandoned', EXIT.jobAbandoned],
])

/** The exit code for the status of a job. Null while the job has not ended. */
export function exitCodeOf(status: string): ExitCode | null {
  return OUTCOMES.get(status) ?? null
}

/** Whether the real outcome replaces this status when the runner reports it later. */
export function mayStillEnd(status: string): boolean {
  return status === 'abandoned'
}
