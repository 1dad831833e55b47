/** Drawings by their names: paths in a square of 24, drawn as lines. */
const PATHS = {
  jobs: 'M4 6h11M4 12h6M4 18h6M14 11.5l7 4.5-7 4.5z',
  forms: 'M9 3.5h6v3H9zM9 5H5.5v15.5h13V5H15M9 11.5h6M9 15.5h4',
  approvals: 'M20.5 11a8.5 8.5 0 1 1-4-6.200M8.5 11.5l3 3 8.5-9',
  schedules: 'M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17M12 7.5V12l3 2.5',
  notifications: 'M6 16v-5a6 6 0 0 1 12 0v5l2 2.5H4zM10 21h4',
  runners: 'M4 4.5h16v6H4zM4 13.5h16v6H4zM7.5 7.5h.01M7.5 16.5h.01M11 7.5h5M11 16.5h5',
  users:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M2.5 20a6.5 6.5 0 0 1 13 0M16 4.300a3.5 3.5 0 0 1 0 6.400M18 14.300a6.5 6.5 0 0 1 3.5 5.7',
  roles: 'M12 3l7.5 3v5.5c0 4.5-3 7.8-7.5 9.5-4.5-1.7-7.5-5-7.5-9.5V6zM9 12l2.2 2.200L15.5 10',
  credentials: 'M8 19.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9M11.2 11.800L20 3M16.5 6.5L19.5 9.5M14 9l2 2',
  audit: 'M6 3.5h12v17l-3-2-3 2-3-2-3 2zM9.5 8.5h5M9.5 12.5h5',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.800v4.400M9 14.800v4.4',
  menu: 'M4 6.5h16M4 12h16M4 17.5h16',
  person: 'M12 11.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4.5 20.5a7.5 7.5 0 0 1 15 0',
} as const

/** Name of a drawing. */
export type IconName = keyof typeof PATHS

/** A drawing beside a word, which says the same: programs that read the page aloud leave it out. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}

/** The sign of the product: two posts, and what holds them together. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M9 7v18M23 7v18M9 16h14" />
    </svg>
  )
}
