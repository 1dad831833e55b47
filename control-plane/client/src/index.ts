/** A client of the Holdfast REST interface: see README.md. */
export { type Access, type Client, type ClientOptions, createClient } from './client.js'
export * from './errors.js'
export { type Choice, type FormField, isShown, readFields } from './form-field.js'
export { type FormModel, type FormPart, readForm } from './form-model.js'
export * from './interface.gen.js'
export { readJson, writeJson } from './json.js'
export type { NoParameters, RequestOptions } from './operation.js'
