/** A page of the console. */
export interface Page {
  /** The pattern of its address, below BASE_URL. A name with a colon stands for one part of a path. */
  readonly path: string
  /** The script that has it, beside the one of the start: `pages/<script>-pages.ts`, or the one of a job. */
  readonly script: 'start' | 'job' | 'form' | 'forms' | 'schedules' | 'runners' | 'admin'
  /** Who may see it; left out: everybody who is signed in. */
  readonly who?: 'admin'
  /** The part of the menu that it stands in; left out: links lead to it. */
  readonly menu?: 'work' | 'administration'
  /** What waits there for a person, as `getAttention` counts it. */
  readonly waits?: readonly ('approvals' | 'runner_requests' | 'lost_runners' | 'unknown_jobs' | 'broken_forms')[]
}

/**
 * Every page by its name, in the order of the menu. The server answers these paths with the page, and the router of the
 * pages knows no other ones.
 */
export const PAGES = {
  start: { path: '/', script: 'start' },
  signIn: { path: '/sign-in', script: 'start' },
  jobs: { path: '/jobs', script: 'start', menu: 'work' },
  job: { path: '/jobs/:id', script: 'job' },
  jobTab: { path: '/jobs/:id/:tab', script: 'job' },
  forms: { path: '/forms', script: 'forms', menu: 'work', waits: ['broken_forms'] },
  form: { path: '/forms/:name', script: 'form' },
  approvals: { path: '/approvals', script: 'forms', menu: 'work', waits: ['approvals'] },
  schedules: { path: '/schedules', script: 'schedules', menu: 'work' },
  schedule: { path: '/schedules/:id', script: 'schedules' },
  me: { path: '/me', script: 'admin' },
  runners: {
    path: '/runners',
    script: 'runners',
    who: 'admin',
    menu: 'administration',
    waits: ['runner_requests', 'lost_runners', 'unknown_jobs'],
  },
  runner: { path: '/runners/:id', script: 'runners', who: 'admin' },
  users: { path: '/users', script: 'admin', who: 'admin', menu: 'administration' },
  user: { path: '/users/:id', script: 'admin', who: 'admin' },
  roles: { path: '/roles', script: 'admin', who: 'admin', menu: 'administration' },
  credentials: { path: '/credentials', script: 'admin', who: 'admin', menu: 'administration' },
  notifications: { path: '/notifications', script: 'admin', who: 'admin', menu: 'administration' },
  audit: { path: '/audit', script: 'admin', who: 'admin', menu: 'administration' },
  settings: { path: '/settings', script: 'admin', who: 'admin', menu: 'administration' },
} as const satisfies Readonly<Record<string, Page>>

/** Name of a page. */
export type PageName = keyof typeof PAGES
/** Name of a page that stands in the menu. */
export type MenuName = { [Name in PageName]: (typeof PAGES)[Name] extends { menu: string } ? Name : never }[PageName]

/** The pages of a part of the menu, in its order. */
export function menuOf(menu: NonNullable<Page['menu']>): readonly (Page & { readonly name: MenuName })[] {
  return Object.entries<Page>(PAGES)
    .filter(([, page]) => page.menu === menu)
    .map(([name, page]) => ({ ...page, name: name as MenuName }))
}
