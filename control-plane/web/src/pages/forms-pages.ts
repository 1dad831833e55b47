/** The pages on which people launch forms and decide about approvals. One script has them all. */
export { ApprovalsPage } from './approvals/approvals-page.js'
export { FormPage } from './form/form-page.js'
export { FormsPage } from './forms/forms-page.js'
