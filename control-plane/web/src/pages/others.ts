/**
 * All pages but those of the jobs. They are loaded together: one large file is smaller, compressed, than many small ones.
 */
export { AuditPage } from './admin/audit-page.js'
export { CredentialsPage } from './admin/credentials-page.js'
export { RolesPage } from './admin/roles-page.js'
export { SettingsPage } from './admin/settings-page.js'
export { UserPage } from './admin/user-page.js'
export { UsersPage } from './admin/users-page.js'
export { ApprovalsPage } from './approvals/approvals-page.js'
export { FormPage } from './form/form-page.js'
export { FormsPage } from './forms/forms-page.js'
export { MePage } from './me/me-page.js'
export { NotificationsPage } from './notifications/notifications-page.js'
export { RunnerPage } from './runners/runner-page.js'
export { RunnersPage } from './runners/runners-page.js'
export { SchedulePage } from './schedules/schedule-page.js'
export { SchedulesPage } from './schedules/schedules-page.js'
