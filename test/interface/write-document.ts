import { writeFileSync } from 'node:fs'
import { DOCUMENT_PATH, documentOf } from './document.js'
import { statementsOf } from './statements.js'

/** Writes the document; run from the root of the repository. */
writeFileSync(DOCUMENT_PATH, documentOf(statementsOf('test')))
