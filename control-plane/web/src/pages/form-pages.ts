/** The page of a form, with the inputs of all kinds of fields. One script has it. */
export { FormPage } from './form/form-page.js'
