/**
 * A user's name as people read it: with its kind, since every kind has names of its own, and `jane` of the directory is
 * not the local `jane`. Local users are plain.
 */
export function shownName({ username, type }: { readonly username: string; readonly type: string }): string {
  return type === 'local' ? username : `${username} (${type})`
}

/** The name of whoever launched a job, likewise. */
export function launcherName(job: { readonly user_name: string; readonly user_type: string }): string {
  return shownName({ username: job.user_name, type: job.user_type })
}
