/** Every text of the pages, in plain English. What stands here is all that a translation needs. */
export const words = {
  product: 'Holdfast',
  nav: { label: 'Pages', jobs: 'Jobs', forms: 'Forms', approvals: 'Approvals', runners: 'Runners' },
  skip: 'Skip to the content',
  loading: 'Loading',
  notFound: {
    title: 'There is no such page',
    text: 'The address may be mistyped, or the page was moved.',
  },
  jobs: { title: 'Jobs', empty: 'No job yet.' },
  job: { title: (id: number) => `Job ${id}` },
} as const
