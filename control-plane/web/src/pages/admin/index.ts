/** All pages for admins: they are few and small, so they are loaded together. */
export { AuditPage } from './audit-page.js'
export { CredentialsPage } from './credentials-page.js'
export { RolesPage } from './roles-page.js'
export { SettingsPage } from './settings-page.js'
export { UserPage } from './user-page.js'
export { UsersPage } from './users-page.js'
