/** The pages of runners. One script has them all. */
export { RunnerPage } from './runners/runner-page.js'
export { RunnersPage } from './runners/runners-page.js'
