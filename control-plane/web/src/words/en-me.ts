/** Texts of the page of the own account. They are loaded with that page, and with the sessions of other users. */
export const meWords = {
  title: 'Your account',
  roles: 'Roles',
  withheld: (roles: string) =>
    `Not given: ${roles}. These roles name you, but mean a deleted account of the same name. An admin can accept yours.`,
  groups: 'Groups',
  groupsLeftOut: (count: number) =>
    `${count} more groups were too many, or their names too long, to be kept. No role names them.`,
  kind: 'Kind',
  zone: 'Time zone of all times',
  password: 'Change the password',
  current: 'Current password',
  next: 'New password',
  change: 'Change it',
  sessions: 'Where you are signed in',
  this: 'this browser',
  since: 'Since',
  lastUsed: 'Last used',
  network: 'From',
  end: 'End',
  endTitle: 'End this session?',
  endOthers: 'End all others',
  endOthersTitle: 'End all sessions but this one?',
  endText: 'Whoever uses it has to sign in again.',
} as const
