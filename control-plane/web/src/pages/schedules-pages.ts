/** The pages of schedules. One script has them all. */
export { SchedulePage } from './schedules/schedule-page.js'
export { SchedulesPage } from './schedules/schedules-page.js'
