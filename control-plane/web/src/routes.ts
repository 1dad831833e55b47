/**
 * Every page by the pattern of its address, below BASE_URL. The server answers these paths with the page, and the router
 * of the pages knows no other ones. A name with a colon stands for one part of a path.
 */
export const PAGES = {
  start: '/',
  signIn: '/sign-in',
  forms: '/forms',
  form: '/forms/:name',
  jobs: '/jobs',
  job: '/jobs/:id',
  jobTab: '/jobs/:id/:tab',
  approvals: '/approvals',
  runners: '/runners',
  runner: '/runners/:id',
  me: '/me',
  users: '/users',
  user: '/users/:id',
  roles: '/roles',
  credentials: '/credentials',
  audit: '/audit',
  settings: '/settings',
} as const

/** Name of a page. */
export type PageName = keyof typeof PAGES
