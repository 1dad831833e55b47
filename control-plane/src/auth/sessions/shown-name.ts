/**
 * A user's name for people. It has the kind of the user, because each kind has its own names: `jane` of the directory
 * is not the local `jane`. Names of local users are shown without a kind.
 */
export function shownName({ username, type }: { readonly username: string; readonly type: string }): string {
  return type === 'local' ? username : `${username} (${type})`
}

/** The name of the user who launched a job, in the same form. */
export function launcherName(job: { readonly user_name: string; readonly user_type: string }): string {
  return shownName({ username: job.user_name, type: job.user_type })
}
