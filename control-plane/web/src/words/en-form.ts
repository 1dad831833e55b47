import { many } from './count.js'

/** Texts of the page of a form. They are loaded with this page only. */
export const formWords = {
  launch: 'Launch',
  launching: 'Launching…',
  verbose: 'Write more into the output (verbose)',
  required: 'required',
  noFields: 'This form asks for nothing.',
  problems: (count: number) => `${many(count, 'field needs', 'fields need')} another value`,
  choose: 'Choose…',
  addRow: 'Add a row',
  removeRow: (number: number) => `Remove row ${number}`,
  row: (number: number) => `Row ${number}`,
  noRows: 'No row yet.',
  uploading: (name: string) => `${name} goes up…`,
  uploadedSoFar: (sent: string, all: string) => `${sent} of ${all}`,
  cancelUpload: 'Cancel the upload',
  uploadCancelled: 'The upload was cancelled. No file is chosen.',
  uploadAgain: 'Upload it again',
  stillUploading: 'The file is still going up. Launch when it is there, or cancel it.',
  uploaded: (name: string, size: string) => `${name}, ${size}`,
  relaunching: (id: number) =>
    `Runs job ${id} again. Type its passwords anew. Its files are used again, but for those that you choose anew.`,
  changed: (before: string) => `Changed. Before: ${before}`,
  changes: (names: string) => `Changed: ${names}`,
  step: (number: number, all: number, name: string) => `Step ${number} of ${all}: ${name}`,
  general: 'General',
  back: 'Back',
  next: 'Next',
  willRun: 'What will run',
  willRunOn: (runner: string) => `On the runner ${runner}, with these variables:`,
} as const
