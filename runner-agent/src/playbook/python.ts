import { execa } from 'execa'

/**
 * The Python 3 that runs the supervisors, by its own path: what stands in PATH may be a version manager's wrapper, which
 * takes several times as long to start as Python itself, at every job.
 * @throws Error with a sentence when there is none
 */
export async function findPython(environment: Readonly<Record<string, string | undefined>>): Promise<string> {
  const result = await execa('python3', ['-I', '-S', '-c', 'import sys; print(sys.executable)'], {
    env: { PATH: environment.PATH, HOME: environment.HOME },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    timeout: 20_000,
    maxBuffer: 64 * 1024,
  })
  const path = result.failed ? '' : result.stdout.trim()
  if (path === '')
    throw new Error(`python3 does not run here, and every playbook needs it: ${result.shortMessage ?? ''}`)
  return path
}
