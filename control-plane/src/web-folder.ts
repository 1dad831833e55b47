import { fileURLToPath } from 'node:url'

/** Where `npm run build` puts the files of the pages, in a clone and in an installed package. */
export const WEB_FOLDER = fileURLToPath(new URL('../web/dist/pages', import.meta.url))
