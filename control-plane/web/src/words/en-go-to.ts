/** Texts of the dialog that leads to everything. They are loaded when somebody opens it. */
export const goToWords = {
  title: 'Go to',
  hint: 'Page, form, or number of a job',
  found: 'What was found',
  none: 'Nothing has these words.',
  page: 'Page',
  form: 'Form',
  job: (id: string) => `Job ${id}`,
  jobKind: 'Job',
  keys: 'Keys on every page',
  keyTable: [
    ['Ctrl+K', 'this dialog'],
    ['g j', 'jobs'],
    ['g f', 'forms'],
    ['g a', 'approvals'],
    ['?', 'this list; in the output of a job its own list'],
  ],
} as const
