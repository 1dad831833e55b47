/** The pages for admins, and the one of the own account. One script has them all. */
export { AuditPage } from './admin/audit-page.js'
export { CredentialsPage } from './admin/credentials-page.js'
export { RolesPage } from './admin/roles-page.js'
export { SettingsPage } from './admin/settings-page.js'
export { UserPage } from './admin/user-page.js'
export { UsersPage } from './admin/users-page.js'
export { MePage } from './me/me-page.js'
export { NotificationsPage } from './notifications/notifications-page.js'
