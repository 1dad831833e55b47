/** What narrows the list of jobs; it stands in the address. */
export interface JobFilters {
  readonly q?: string
  readonly status?: string
  readonly form?: string
  readonly runner?: string
  readonly user?: string
  readonly parts?: true
}

const TEXTS = ['q', 'status', 'form', 'runner', 'user'] as const

/** The filters of an address. */
export function filtersOf(query: URLSearchParams): JobFilters {
  const given = TEXTS.map((name) => [name, query.get(name) ?? ''] as const).filter(([, text]) => text !== '')
  return { ...Object.fromEntries(given), ...(query.get('parts') === 'true' ? { parts: true as const } : {}) }
}

/** The filters as a query, always in the same order. */
export function queryOf(filters: JobFilters): string {
  const query = new URLSearchParams()
  for (const name of TEXTS) if (filters[name] !== undefined) query.set(name, filters[name])
  if (filters.parts) query.set('parts', 'true')
  return query.toString()
}

/** The filters as the interface takes them. There a job that is queued has the status `running`, too. */
export function queriedOf({ status, ...others }: JobFilters) {
  if (status === 'queued') return { ...others, queued: true }
  return status === 'running' ? { ...others, status, queued: false } : { ...others, status }
}
