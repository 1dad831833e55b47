import { many } from './count.js'

/** Texts of the list of forms. They are loaded with this page only. */
export const formsWords = {
  title: 'Forms',
  search: 'Search forms',
  other: 'Other',
  favourites: 'Favourites',
  favourite: (name: string) => `Favourite: ${name}`,
  lastRun: 'Your last run',
  empty: 'No form is for your roles. Ask an admin.',
  emptyFiltered: 'No form has these words.',
  leftOut: (count: number) => `${many(count, 'form was', 'forms were')} left out`,
  filesLeftOut: (count: number) =>
    `${many(count, 'entry', 'entries')} of the playbook folder cannot travel to runners. Jobs run without them, unless they name them.`,
} as const
