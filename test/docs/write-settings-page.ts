import { writeFileSync } from 'node:fs'
import { SETTINGS_PAGE, settingsPage } from './settings-page.js'

/** Writes the tables of docs/settings.md anew; run from the root of the repository. */
writeFileSync(SETTINGS_PAGE, await settingsPage())
