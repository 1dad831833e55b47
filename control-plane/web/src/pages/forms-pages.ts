/** The list of forms, and the approvals. One script has them all. */
export { ApprovalsPage } from './approvals/approvals-page.js'
export { FormsPage } from './forms/forms-page.js'
