import type { Job } from '@holdfast/client'
import { localTime } from '../../../show/time.js'

/**
 * What a job that does not run waits for, in words. Null when it waits for nothing, or when the service is too old to
 * tell.
 */
export function waitsFor({ status, approval, place }: Pick<Job, 'status' | 'approval' | 'place'>): string | null {
  if (status === 'approve') return approvalWords(approval)
  if (!place) return null
  const { state, runner, before, until } = place
  if (place.group) return placeWords(place.group)
  if (runner === null) return null
  const { name, online } = runner
  const seen = runner.last_seen === null ? '' : ` (last seen ${localTime(runner.last_seen) ?? ''})`
  switch (state) {
    case 'queued': {
      const what = online ? `a free slot on the runner ${name}` : `the runner ${name}, which is offline${seen}`
      const others = before ? `; ${before} ${before === 1 ? 'job comes' : 'jobs come'} first` : ''
      return `${what}${others}${until === null ? '' : `; it fails at ${localTime(until) ?? ''} at the earliest`}`
    }
    case 'offered':
      return online ? `the runner ${name} to take it` : `the runner ${name}, which is offline${seen}`
    case 'lost':
      return online ? `the runner ${name} to tell of it` : `the runner ${name}, which is offline${seen}`
    default:
      return null
  }
}

function placeWords({ name, limit, running, before }: NonNullable<NonNullable<Job['place']>['group']>): string {
  const who = running.length === 0 ? '' : ` (${running.length === 1 ? 'job' : 'jobs'} ${running.join(', ')})`
  const others = before === 0 ? '' : `; ${before} ${before === 1 ? 'job comes' : 'jobs come'} first`
  return `a place in the group ${name}, of which ${limit} ${limit === 1 ? 'job' : 'jobs'} may run at once${who}${others}`
}

function approvalWords(approval: Job['approval']): string {
  if (approval === null) return 'an approval'
  const { title, roles } = approval
  const who = roles.includes('default')
    ? 'by anybody'
    : roles.length === 0
      ? 'by an admin'
      : `by ${roles.join(', ')} or an admin`
  return `an approval ${who}${title === null ? '' : `: ${title}`}`
}
