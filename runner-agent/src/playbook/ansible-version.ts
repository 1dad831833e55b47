import { execa } from 'execa'

/** The version of ansible-core on this host; null when there is none, or it does not answer soon. */
export async function readAnsibleVersion(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  const result = await execa('ansible-playbook', ['--version'], {
    env: { PATH: environment.PATH, HOME: environment.HOME },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
    timeout: 20_000,
    forceKillAfterDelay: 500,
    maxBuffer: 64 * 1024,
  })
  return /\[core ([^\]\s]+)/.exec(result.stdout)?.[1] ?? /ansible-playbook ([\d.]+)/.exec(result.stdout)?.[1] ?? null
}
