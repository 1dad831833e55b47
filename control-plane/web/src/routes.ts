/** A page of the console. */
export interface Page {
  /** The pattern of its address, below BASE_URL. A name with a colon stands for one part of a path. */
  readonly path: string
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
  start: { path: '/' },
  signIn: { path: '/sign-in' },
  jobs: { path: '/jobs', menu: 'work' },
  job: { path: '/jobs/:id' },
  jobTab: { path: '/jobs/:id/:tab' },
  forms: { path: '/forms', menu: 'work', waits: ['broken_forms'] },
  form: { path: '/forms/:name' },
  approvals: { path: '/approvals', menu: 'work', waits: ['approvals'] },
  schedules: { path: '/schedules', menu: 'work' },
  schedule: { path: '/schedules/:id' },
  me: { path: '/me' },
  runners: {
    path: '/runners',
    who: 'admin',
    menu: 'administration',
    waits: ['runner_requests', 'lost_runners', 'unknown_jobs'],
  },
  runner: { path: '/runners/:id', who: 'admin' },
  users: { path: '/users', who: 'admin', menu: 'administration' },
  user: { path: '/users/:id', who: 'admin' },
  roles: { path: '/roles', who: 'admin', menu: 'administration' },
  credentials: { path: '/credentials', who: 'admin', menu: 'administration' },
  notifications: { path: '/notifications', who: 'admin', menu: 'administration' },
  audit: { path: '/audit', who: 'admin', menu: 'administration' },
  settings: { path: '/settings', who: 'admin', menu: 'administration' },
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
